#include "models/network/mask_oracle.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "models/network/parameters.hpp"

namespace assay {

MaskOracle::MaskOracle(const Executor& executor) : executor_(executor) {
  const std::vector<GraphNode>& nodes = executor.graph().nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].problem->kind() == "dropout") keys_[i] = nodes[i].problem->json().at("key").dump();
}

void MaskOracle::begin() {
  runs_.clear();
  passes_ = 0;
}

void MaskOracle::before(std::size_t node) {
  if (node == 0) ++passes_;
}

void MaskOracle::after(std::size_t node) {
  if (!keys_.contains(node)) return;
  const GraphNode& node_of_mask = executor_.graph().nodes[node];
  runs_.push_back(
      {node, passes_ - 1, read_values(executor_, node_of_mask.tensors.at("counter")).front()});
}

std::string MaskOracle::fault_of_passes(std::int64_t steps, std::int64_t passes) const {
  const std::vector<GraphNode>& nodes = executor_.graph().nodes;
  for (const Run& run : runs_)
    if (const std::int64_t expected = steps * passes + run.pass;
        run.counter != static_cast<double>(expected))
      return fmt::format("{} has the mask of pass {} of the training in its pass {}",
                         nodes[run.node].text(), run.counter, expected);
  return "";
}

std::string MaskOracle::fault(std::int64_t steps, std::int64_t passes, Communicator& ranks) const {
  if (keys_.empty()) return "";
  const std::vector<GraphNode>& nodes = executor_.graph().nodes;
  std::string fault_text = fault_of_passes(steps, passes), mine;
  std::map<std::string, std::string> of_layers;
  for (const auto& [node, key] : keys_)
    if (of_layers.try_emplace(nodes[node].layer, key).first->second != key)
      fault_text = fmt::format("the passes of {} have different masks", nodes[node].layer);
  for (const auto& [layer, key] : of_layers) mine += key + " ";
  std::set<std::string> seen;
  for (const std::string& of_rank : ranks.allgather(mine)) {
    std::istringstream keys(of_rank);
    for (std::string key; keys >> key;)
      if (!seen.insert(key).second)
        fault_text = "two layers, or ranks, have the same masks of dropout";
  }
  return fault_text;
}

}  // namespace assay
