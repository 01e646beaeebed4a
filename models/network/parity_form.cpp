#include "models/network/parity_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace assay {
namespace {

/// Bytes of all values, as if they lived at the same time.
double count_bytes(const Graph& graph) {
  double all = 0;
  for (ValueIndex v = 0; v < graph.values.size(); ++v)
    if (const GraphValue& value = graph.values[v]; value.storage != Storage::part)
      all += static_cast<double>(graph.elements(v)) * static_cast<double>(size_of(value.type));
  return all;
}

/// Bytes of two compared values in fp64.
double bytes_of_two(const Graph& graph) {
  std::int64_t largest = 0;
  for (ValueIndex v = 0; v < graph.values.size(); ++v)
    if (graph.values[v].storage != Storage::persistent)
      largest = std::max(largest, graph.elements(v));
  return 2 * sizeof(double) * static_cast<double>(largest);
}

}  // namespace

ParityForm parity_form(const Network& network,
                       const std::function<std::int64_t(const Network&)>& images,
                       const PassOf& pass, std::optional<Precision> tried,
                       const ParityLimits& limits) {
  double flops = 0, bytes = 0;  // of the whole network
  for (std::optional<Network> form = network; form;
       form = form->make_half ? form->make_half() : std::nullopt)
    for (std::int64_t count = images(*form); count > 0; count = count > 1 ? 1 : 0) {
      const Graph plain = pass(*form, count, Precision::fp64);
      const bool whole = form->descriptor == network.descriptor;
      double need = count_bytes(plain) + bytes_of_two(plain);
      if (tried) need += count_bytes(pass(*form, count, *tried));
      if (whole) {
        flops = plain.flops();
        bytes = need;
      }
      if (plain.flops() <= limits.flops && need <= limits.bytes)
        return {*form, count,
                whole ? ""
                      : fmt::format("the network's form {} (the whole has {:.2g} FLOP)",
                                    form->descriptor, flops)};
      if (!plain.statistics.empty()) break;
    }
  if (!network.make_small) return {network, images(network), ""};
  Network small = network.make_small();
  const std::int64_t count = images(small);
  std::string text = fmt::format("the network's form {} (the whole has {:.2g} FLOP and {:.2g} GiB)",
                                 small.descriptor, flops, bytes / (1 << 30));
  return {std::move(small), count, std::move(text)};
}

}  // namespace assay
