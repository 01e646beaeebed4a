// Nodes that an executor computes at once.

#include <array>
#include <map>
#include <optional>

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

/// Two operations, one after the other. The tensor between them is a workspace.
class InParts final : public Operation {
 public:
  InParts(std::unique_ptr<Operation> before, std::unique_ptr<Operation> after)
      : parts_{Part{std::move(before), "dst", {}, {}}, Part{std::move(after), "src", {}, {}}} {
    std::size_t between = 0;
    for (const bool scratch : {false, true})
      for (Part& part : parts_) {
        const std::vector<TensorSpec>& specs = part.operation->arguments();
        part.places.resize(specs.size());
        for (std::size_t i = 0; i < specs.size(); ++i) {
          TensorSpec spec = specs[i];
          const bool is_between = spec.name == part.between;
          if ((is_between || spec.role == Role::workspace) != scratch) continue;
          part.places[i] = is_between && &part != parts_.data() ? between : arguments_.size();
          if (part.places[i] < arguments_.size()) continue;
          if (is_between) between = part.places[i], spec.role = Role::workspace;
          arguments_.push_back(std::move(spec));
        }
      }
    between_bytes_ = arguments_[between].bytes;
  }

  const std::vector<TensorSpec>& arguments() const override { return arguments_; }
  void bind(std::span<Tensor* const> tensors) override {
    for (Part& part : parts_) {
      part.bound.clear();
      for (const std::size_t place : part.places) part.bound.push_back(tensors[place]);
      part.operation->bind(part.bound);
    }
  }
  void run(Stream& stream) override {
    for (Part& part : parts_) part.operation->run(stream);
  }
  Execution execution() const override {
    Execution execution = parts_[0].operation->execution();
    const Execution after = parts_[1].operation->execution();
    execution.numbers.erase("kernels_s");  // it is the number of the first operation only
    execution.workspace_bytes += after.workspace_bytes + between_bytes_;
    execution.implementation += "; then " + after.implementation;
    return execution;
  }

 private:
  struct Part {
    std::unique_ptr<Operation> operation;
    std::string between;              ///< its argument that the other part also has
    std::vector<std::size_t> places;  ///< of its arguments in arguments_
    std::vector<Tensor*> bound;
  };
  std::array<Part, 2> parts_;
  std::vector<TensorSpec> arguments_;
  std::size_t between_bytes_ = 0;
};

/// True if `after` reads the result of `before` and the further arguments that `before` can make.
bool is_given(const GraphNode& before, const GraphNode& after) {
  return after.takes != nullptr && before.gives == after.takes && before.summed == Graph::none &&
         before.tensors.at("dst") == after.tensors.at("src");
}

}  // namespace

/// The candidates of a fused node: the one operation that computes both nodes, and the two separate
/// operations.
Result<std::vector<Executor::Candidate>> Executor::find_fused(const GraphNode& fused,
                                                              const GraphNode& before,
                                                              const GraphNode& after,
                                                              Plugins& plugins,
                                                              Communicator& ranks) const {
  const Choice by{settings_.backends.front(), ""};
  std::vector<Candidate> all;
  auto whole = try_candidate(fused, by, plugins, ranks);
  if (auto* const refusal = std::get_if<Unsupported>(&whole)) return std::move(*refusal);
  all.push_back(std::move(std::get<Candidate>(whole)));
  auto first = try_candidate(before, by, plugins, ranks);
  auto second = try_candidate(after, by, plugins, ranks);
  if (auto* const a = std::get_if<Candidate>(&first), * const b = std::get_if<Candidate>(&second);
      a != nullptr && b != nullptr) {
    Candidate parts;
    parts.choice = {by.backend, Choice::in_parts};
    parts.device = a->device;
    parts.operation = std::make_unique<InParts>(std::move(a->operation), std::move(b->operation));
    parts.count_scratch();
    all.push_back(std::move(parts));
  }
  return all;
}

void Executor::fuse(Plugins& plugins, Communicator& ranks) {
  if (!filters_last() || row_major_ || graph_.gradients != Graph::none) return;
  const auto users = users_of_values(graph_);
  std::map<std::size_t, std::pair<GraphNode, std::vector<Candidate>>> fused;  // by second node
  std::vector<bool> gone(graph_.nodes.size());
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto src = graph_.nodes[i].tensors.find("src");
    if (src == graph_.nodes[i].tensors.end() || users.at(src->second).size() != 2) continue;
    const std::size_t maker = users.at(src->second).front();
    const GraphNode &before = graph_.nodes[maker], &after = graph_.nodes[i];
    if (after.join == nullptr || before.summed != Graph::none ||
        graph_.value(src->second).storage != Storage::planned)
      continue;
    auto node = after.join(before, after);
    if (!node) continue;
    auto all = find_fused(*node, before, after, plugins, ranks);
    if (const auto* const refusal = std::get_if<Unsupported>(&all)) {
      if (not_fused_.empty()) not_fused_ = refusal->reason;
      continue;
    }
    gone[maker] = true;
    fused.emplace(i, std::pair{std::move(*node), std::move(std::get<0>(all))});
  }
  std::vector<GraphNode> nodes;
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (gone[i]) continue;
    candidates_.emplace_back();
    if (const auto entry = fused.find(i); entry != fused.end()) {
      nodes.push_back(std::move(entry->second.first));
      candidates_.back() = std::move(entry->second.second);
    } else {
      nodes.push_back(std::move(graph_.nodes[i]));
    }
  }
  graph_.nodes = std::move(nodes);
  // Choices of an executor that fused other nodes do not apply to these nodes.
  if (settings_.chosen.size() != graph_.nodes.size()) settings_.chosen.clear();
  for (std::size_t i = 0; i < settings_.chosen.size(); ++i)
    if (std::vector<Candidate>& all = candidates_[i]; all.size() > 1)
      std::erase_if(all, [&](const Candidate& candidate) {
        return candidate.choice.is_in_parts() != settings_.chosen[i].is_in_parts();
      });
}

void Executor::add_sums(Plugins& plugins, Communicator& ranks) {
  if (!filters_last() || row_major_ || graph_.precision == Precision::fp32 ||
      graph_.precision == Precision::fp64)
    return;
  const auto users = users_of_values(graph_);
  for (std::size_t i = 0; i + 1 < graph_.nodes.size(); ++i) {
    const GraphNode &before = graph_.nodes[i], &after = graph_.nodes[i + 1];
    // choose_sums() runs the second node before the first one's final run, so the second node must
    // not overwrite the first one's input.
    if (!is_given(before, after) || users.at(before.tensors.at("src")).back() <= i) continue;
    const bool is_chosen = !settings_.chosen.empty();
    if (is_chosen && !(settings_.chosen.at(i).has_sums() && settings_.chosen.at(i + 1).has_sums()))
      continue;
    const Choice by{is_chosen ? settings_.chosen[i].backend : settings_.backends.front(),
                    Choice::with_sums};
    auto first = try_candidate(before, by, plugins, ranks);
    auto second = try_candidate(after, by, plugins, ranks);
    for (const auto* const candidate : {&first, &second})
      if (const auto* const refusal = std::get_if<Unsupported>(candidate);
          refusal != nullptr && not_fused_.empty())
        not_fused_ = refusal->reason;
    auto *const a = std::get_if<Candidate>(&first), *const b = std::get_if<Candidate>(&second);
    if (a == nullptr || b == nullptr) continue;
    if (a->shared_bytes() != b->shared_bytes()) {
      not_fused_ = by.backend + " makes other sums than it reads";
      continue;
    }
    for (std::size_t node = i; is_chosen && node < i + 2; ++node) candidates_[node].clear();
    candidates_[i].push_back(std::move(*a));
    candidates_[i + 1].push_back(std::move(*b));
    summed_.push_back(i);
  }
}

}  // namespace assay
