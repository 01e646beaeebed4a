#include "models/network/graph.hpp"

#include <functional>
#include <numeric>

#include "core/base/name_table.hpp"

namespace assay {
namespace {

std::int64_t product(const std::vector<std::int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

const std::string& name(Phase phase) {
  static const NameTable<Phase> table({"forward", "backward", "accumulate", "update"});
  return table[phase];
}

std::int64_t Parameter::elements() const { return product(dims); }

std::int64_t Graph::elements(ValueIndex index) const { return product(values[index].dims); }

double Graph::flops() const {
  double sum = 0;
  for (const GraphNode& node : nodes) sum += node.problem->flops();
  return sum;
}

}  // namespace assay
