#include "models/parallel/split_plan.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace assay {
namespace {

bool has_products(const GraphNode& node) {
  return node.problem->kind() == "conv" || node.problem->kind() == "gemm";
}

bool keeps_channels_apart(const GraphNode& node) {
  static const std::set<std::string> kinds{"norm", "activation", "pool", "resize", "sum"};
  return kinds.contains(node.problem->kind());
}

/// The activations that a forward node reads, and the one that it writes.
struct Flow {
  std::vector<ValueIndex> inputs;
  ValueIndex output = Graph::none;
};

Flow find_flow(const GraphNode& node) {
  Flow flow;
  const bool of_matrices = node.problem->kind() == "gemm", sums = node.problem->kind() == "sum";
  // A transposed convolution has the tensors of a bwd_data.
  for (const auto& [name, value] : node.tensors) {
    if (name == "dst" || name == "diff_src" || name == "c")
      flow.output = value;
    else if (name == "src" || name == "diff_dst" || name == "addend" ||
             (name == "b" && (of_matrices || sums)) || (name == "a" && sums))
      flow.inputs.push_back(value);
  }
  return flow;
}

/// A set of values that must be divided together: the products that make them, and those that read
/// them.
struct Group {
  std::set<std::string> makers, readers;
  bool fits = true;
};

class Planner {
 public:
  Planner(const Graph& pass, int ranks) : pass_(pass), ranks_(ranks) {
    for (std::size_t i = 0; i < pass.nodes.size(); ++i) {
      if (pass.nodes[i].phase != Phase::forward) continue;
      forward_.push_back(i);
      if (const ValueIndex output = find_flow(pass.nodes[i]).output; output != Graph::none)
        maker_[output] = i;
      for (const auto& [name, value] : pass.nodes[i].tensors) users_[value].push_back(i);
    }
  }

  std::set<std::string> divided() const {
    std::vector<Group> groups;
    for (const std::size_t i : forward_)
      if (has_products(pass_.nodes[i]))
        if (Group group = find_group(find_flow(pass_.nodes[i]).output); group.fits)
          groups.push_back(std::move(group));
    std::ranges::stable_sort(
        groups, [](const Group& a, const Group& b) { return a.makers.size() < b.makers.size(); });
    std::set<std::string> taken, divided;
    for (const Group& group : groups) {
      const auto is_taken = [&](const std::string& layer) { return taken.contains(layer); };
      if (std::ranges::any_of(group.makers, is_taken) ||
          std::ranges::any_of(group.readers, is_taken))
        continue;
      taken.insert(group.makers.begin(), group.makers.end());
      taken.insert(group.readers.begin(), group.readers.end());
      divided.insert(group.makers.begin(), group.makers.end());
    }
    return divided;
  }

 private:
  /// The group of all values that must be divided together with `first`.
  Group find_group(ValueIndex first) const {
    Group group;
    std::set<ValueIndex> seen;
    std::vector<ValueIndex> next{first};
    while (!next.empty() && group.fits) {
      const ValueIndex value = next.back();
      next.pop_back();
      if (!seen.insert(value).second) continue;
      const auto maker = maker_.find(value);
      group.fits = maker != maker_.end() && pass_.value(value).dims[1] % ranks_ == 0;
      for (std::size_t i : users_.at(value)) {
        const GraphNode& node = pass_.nodes[i];
        const bool makes = maker != maker_.end() && maker->second == i;
        if (has_products(node))
          (makes ? group.makers : group.readers).insert(node.layer);
        else if (keeps_channels_apart(node))
          add_values(node, next);
        else
          group.fits = false;
      }
    }
    group.fits = group.fits && std::ranges::none_of(group.makers, [&](const std::string& layer) {
                   return group.readers.contains(layer);
                 });
    return group;
  }

  static void add_values(const GraphNode& node, std::vector<ValueIndex>& values) {
    const Flow flow = find_flow(node);
    values.insert(values.end(), flow.inputs.begin(), flow.inputs.end());
    values.push_back(flow.output);
  }

  const Graph& pass_;
  const int ranks_;
  std::vector<std::size_t> forward_;
  std::map<ValueIndex, std::size_t> maker_;
  std::map<ValueIndex, std::vector<std::size_t>> users_;
};

}  // namespace

std::set<std::string> list_divided_layers(const Graph& pass, int ranks) {
  return Planner(pass, ranks).divided();
}

}  // namespace assay
