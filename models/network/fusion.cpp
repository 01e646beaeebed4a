// Nodes that an executor computes at once.

#include <algorithm>
#include <map>
#include <optional>

#include "kernels/conv/problem.hpp"
#include "kernels/conv_norm/problem.hpp"
#include "kernels/norm/problem.hpp"
#include "models/network/executor.hpp"

namespace assay {
namespace {

/// Nodes that read or write each value.
std::map<ValueIndex, std::vector<std::size_t>> users_of_values(const Graph& graph) {
  std::map<ValueIndex, std::vector<std::size_t>> all;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const auto& [name, value] : graph.nodes[i].tensors) all[value].push_back(i);
  return all;
}

/// Joins the two nodes, if only the normalization reads the output of the convolution.
std::optional<GraphNode> joined(const Graph& graph, const GraphNode& conv, const GraphNode& norm) {
  if (conv.problem->kind() != ConvProblem::kind_name ||
      norm.problem->kind() != NormProblem::kind_name || conv.summed != Graph::none)
    return std::nullopt;
  const auto& convolution = problem_cast<ConvProblem>(*conv.problem);
  const auto& normalization = problem_cast<NormProblem>(*norm.problem);
  const ValueIndex between = norm.tensors.at("src");
  if (convolution.direction() != ConvDirection::forward || conv.tensors.at("dst") != between ||
      normalization.direction() != NormDirection::forward_inference ||
      graph.value(between).storage != Storage::planned)
    return std::nullopt;
  const ConvNormProblem problem(conv.problem, norm.problem);
  GraphNode one = norm;
  one.layer = conv.layer;
  one.problem = std::make_shared<ConvNormProblem>(problem);
  one.oracle = conv_norm_oracle(problem);
  for (const char* name : {"src", "weights"}) one.tensors[name] = conv.tensors.at(name);
  return one;
}

}  // namespace

void Executor::fuse(Plugins& plugins, Communicator& ranks) {
  if (!filters_last() || row_major_ || graph_.gradients != Graph::none) return;
  const auto users = users_of_values(graph_);
  std::map<std::size_t, std::pair<GraphNode, Candidate>> fused;  // by the normalization
  std::vector<bool> gone(graph_.nodes.size());
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto src = graph_.nodes[i].tensors.find("src");
    if (src == graph_.nodes[i].tensors.end() || users.at(src->second).size() != 2) continue;
    const std::size_t before = users.at(src->second).front();
    auto one = joined(graph_, graph_.nodes[before], graph_.nodes[i]);
    if (!one) continue;
    auto made = make_candidate(*one, {settings_.backends.front(), ""}, plugins, ranks);
    if (const auto* const refusal = std::get_if<Unsupported>(&made)) {
      if (not_fused_.empty()) not_fused_ = refusal->reason;
      continue;
    }
    gone[before] = true;
    fused.emplace(i, std::pair{std::move(*one), std::move(std::get<Candidate>(made))});
  }
  std::vector<GraphNode> nodes;
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (gone[i]) continue;
    candidates_.emplace_back();
    if (const auto entry = fused.find(i); entry != fused.end()) {
      nodes.push_back(std::move(entry->second.first));
      candidates_.back().push_back(std::move(entry->second.second));
    } else {
      nodes.push_back(std::move(graph_.nodes[i]));
    }
  }
  graph_.nodes = std::move(nodes);
  // Choices of an executor that has fused other nodes say nothing of these.
  if (settings_.chosen.size() != graph_.nodes.size()) settings_.chosen.clear();
}

}  // namespace assay
