#include "analysis/scaling/staging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.hpp"

namespace assay::scaling {
namespace {

void expect_positive(const char* what, double value) {
  if (!(value > 0) || !std::isfinite(value))
    throw InputError(fmt::format("staging: {} is {} (it must be above 0). Give a measured number.",
                                 what, value));
}

}  // namespace

Result<StagingTime> staging_time(double bytes, int nodes, const StagingRates& rates, double part) {
  const std::pair<const char*, double> all[] = {
      {"bytes", bytes},     {"nodes", static_cast<double>(nodes)},
      {"part", part},       {"read", rates.read},
      {"keep", rates.keep}, {"local", rates.local}};
  for (const auto& [what, value] : all) expect_positive(what, value);
  if (nodes > 1) expect_positive("pass", rates.pass);
  if (part > 1)
    throw InputError(
        fmt::format("staging: part is {} (the set has no more). Give at most 1.", part));
  if (part * nodes < 1 - 1e-9)
    return Unsupported{
        fmt::format("{} nodes with {:.3g} of the set each do not have all of it", nodes, part)};
  StagingTime time;
  time.node_bytes = part * bytes;
  if (rates.disk > 0 && time.node_bytes > rates.disk)
    return Unsupported{fmt::format("a node would keep {:.3g} bytes, its disk has {:.3g}",
                                   time.node_bytes, rates.disk)};
  const double reading = nodes * rates.read;
  time.read = bytes / (rates.shared > 0 ? std::min(reading, rates.shared) : reading);
  if (nodes > 1) time.pass = time.node_bytes * (1 - 1.0 / nodes) / rates.pass;
  time.keep = time.node_bytes / rates.keep;
  time.seconds = std::max(time.read, time.pass + time.keep);
  time.delivered = nodes * rates.local;
  return time;
}

double nodes_for_rate(double rate, const StagingRates& rates) {
  expect_positive("the rate", rate);
  expect_positive("local", rates.local);
  return std::ceil(rate / rates.local);
}

}  // namespace assay::scaling
