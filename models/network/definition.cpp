#include "models/network/definition.hpp"

#include <fmt/format.h>

#include <set>

#include "kernels/conv/problem.hpp"
#include "models/network/graph.hpp"

namespace assay {
namespace {

std::string format_window(std::int64_t stride, std::int64_t dilation, std::int64_t padding) {
  return fmt::format("stride {}, dilation {}, padding {}", stride, dilation, padding);
}

std::string fault_of_window(const GraphNode& node, const ConvShape& s, const std::string& problem,
                            const DefinedWindow& defined) {
  for (const auto& [axis, taps, stride, dilation, padding] :
       {std::tuple{"height", s.kh, s.sh, s.dh + 1, s.ph},
        std::tuple{"width", s.kw, s.sw, s.dw + 1, s.pw}}) {
    const std::int64_t half = defined.dilation * (taps / 2);
    const std::string window = format_window(stride, dilation, padding),
                      expected = format_window(
                          defined.stride, defined.dilation,
                          defined.padding == DefinedWindow::half_filter ? half : defined.padding);
    if (window != expected)
      return fmt::format("{} has in the {}: {}; by the definition of {}: {}", node.text(), axis,
                         window, problem, expected);
  }
  return "";
}

}  // namespace

std::string find_fault_of_layers(const Graph& graph, const std::string& problem,
                                 const NetworkDefinition& network) {
  const DefinedParameters& defined = network.parameters;
  if (graph.parameters.size() != defined.size())
    return fmt::format("the network has {} parameters, not the {} of {}", graph.parameters.size(),
                       defined.size(), problem);
  for (const Parameter& parameter : graph.parameters) {
    const auto entry = defined.find(parameter.name);
    if (entry == defined.end() || entry->second != parameter.dims)
      return fmt::format("{} has no parameter {} with {} elements", problem, parameter.name,
                         parameter.elements());
  }
  std::set<std::string> missing;
  for (const auto& [layer, window] : network.windows) missing.insert(layer);
  for (const GraphNode& node : graph.nodes) {
    const auto* const conv = dynamic_cast<const ConvProblem*>(node.problem.get());
    if (conv == nullptr) continue;
    missing.erase(node.layer);
    const auto entry = network.windows.find(node.layer);
    const DefinedWindow window = entry == network.windows.end() ? DefinedWindow{} : entry->second;
    if (std::string fault = fault_of_window(node, conv->shape(), problem, window); !fault.empty())
      return fault;
  }
  return missing.empty()
             ? ""
             : fmt::format("the network has no convolution {} of {}", *missing.begin(), problem);
}

}  // namespace assay
