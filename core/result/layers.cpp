#include "core/result/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/json_fields.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Amounts by the names of the rates; an operation without an amount has no such rate.
OptionalNumbers compute_rates(double seconds, double flops, double bytes) {
  OptionalNumbers rates;
  if (!(seconds > 0)) return rates;  // below the clock's resolution there is no rate
  if (flops > 0) rates["flops_per_s"] = flops / seconds;
  if (bytes > 0) rates["bytes_per_s"] = bytes / seconds;
  return rates;
}

/// True if numbers are equal up to rounding; the file has all their digits.
bool is_near(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return std::abs(*a - *b) <= 1e-9 * std::abs(*b);
}

bool is_near(const OptionalNumbers& a, const OptionalNumbers& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && is_near(x.second, y.second);
  });
}

}  // namespace

std::vector<RowLayer> make_layers(const std::vector<LayerTime>& times) {
  std::vector<RowLayer> layers;
  for (const LayerTime& time : times) {
    RowLayer& layer = layers.emplace_back();
    layer.layer = time.layer;
    layer.direction = time.direction;
    layer.operation = time.operation;
    layer.problem = time.problem;
    layer.backend = time.backend;
    layer.algorithm = time.execution.algorithm;
    layer.compute = time.execution.compute;
    if (time.execution.algorithmic_flops > 0)
      layer.algorithmic_flops = time.execution.algorithmic_flops;
    layer.runs = time.runs;
    layer.seconds = time.seconds;
    layer.flops = time.flops;
    layer.bytes = time.bytes;
    layer.host_included = time.host_included;
    layer.rates = compute_rates(time.seconds, time.flops, time.bytes);
  }
  return layers;
}

RowLayersSum sum_layers(const Row& row) {
  RowLayersSum sum;
  for (const RowLayer& layer : row.layers)
    sum.seconds += static_cast<double>(layer.runs) * layer.seconds;
  if (const double median = row.median(); median > 0) {
    sum.fraction = sum.seconds / median;
    sum.agrees = std::abs(*sum.fraction - 1) <= layers_agree_within;
  }
  return sum;
}

Row make_row_of_layer(const Row& row, const RowLayer& layer) {
  Row alone;
  alone.benchmark = row.benchmark;
  alone.status = "ok";
  alone.parameters = row.parameters;
  alone.problem.flops = layer.flops;
  alone.problem.bytes = layer.bytes;
  RowExecution& execution = alone.execution.emplace();
  execution.algorithm = layer.algorithm;
  execution.compute = layer.compute;
  execution.algorithmic_flops = layer.algorithmic_flops;
  alone.time_s.emplace().median = layer.seconds;
  alone.ceiling = layer.ceiling;
  return alone;
}

void check_layers(const Row& row, const std::string& where) {
  std::set<std::pair<std::string, std::string>> names;
  for (std::size_t i = 0; i < row.layers.size(); ++i) {
    const RowLayer& layer = row.layers[i];
    const auto refuse = [&](const std::string& what) {
      throw InputError(fmt::format("{}/layers/{}{}", where, i, what));
    };
    if (!names.emplace(layer.layer, layer.direction).second)
      refuse(
          fmt::format(": found {} {} a second time, expected one.", layer.layer, layer.direction));
    const OptionalNumbers expected = compute_rates(layer.seconds, layer.flops, layer.bytes);
    if (!is_near(layer.rates, expected))
      refuse(fmt::format(
          "/rates: found {}, expected {} (flops and bytes over seconds). The file was changed by "
          "hand.",
          fields::Form<OptionalNumbers>::write(layer.rates).dump(),
          fields::Form<OptionalNumbers>::write(expected).dump()));
  }
  if (!row.layers_sum) return;
  const RowLayersSum &claim = *row.layers_sum, expected = sum_layers(row);
  if (!is_near(claim.seconds, expected.seconds) || !is_near(claim.fraction, expected.fraction) ||
      claim.agrees != expected.agrees)
    throw InputError(fmt::format(
        "{}/layers_sum: found {}, expected {} (runs times seconds of all layers, beside the "
        "median time). The file was changed by hand.",
        where, json(claim).dump(), json(expected).dump()));
}

}  // namespace assay
