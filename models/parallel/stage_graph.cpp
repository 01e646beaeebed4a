#include "models/parallel/stage_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "models/network/graph_builder.hpp"

namespace assay {
namespace {

/// True if each rank provides the value itself: samples, labels, constants and the numbers of a
/// step.
bool is_of_every_stage(const Graph& graph, ValueIndex value) {
  return graph.value(value).storage == Storage::persistent && value != graph.logits;
}

/// The nodes that use each value, and the possible cuts between nodes that follow from them.
class Crossings {
 public:
  explicit Crossings(const Graph& graph) : graph_(graph) {
    for (std::size_t p = 0; p < graph.parameters.size(); ++p)
      value_of_gradient_[graph.parameters[p].gradient] = graph.parameters[p].value;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const bool forward = graph.nodes[i].phase == Phase::forward;
      (forward ? forward_ : backward_).push_back(i);
      if (forward) layer_[graph.nodes[i].layer] = i;
      for (const auto& [name, touched] : graph.nodes[i].tensors) {
        if (is_of_every_stage(graph, touched)) continue;
        const ValueIndex value = owner_value(touched);
        first_.emplace(value, i);
        last_[value] = i;
        if (forward) last_forward_[value] = i;
      }
    }
  }

  const std::vector<std::size_t>& forward() const { return forward_; }

  /// The cut after the forward node `node`, if only one activation crosses it.
  std::optional<StageCut> after(std::size_t node) const {
    StageCut cut;
    cut.forward = node;
    for (const auto& [value, first] : first_) {
      const auto last = last_forward_.find(value);
      if (first > node || last == last_forward_.end() || last->second <= node) continue;
      if (cut.activation != Graph::none) return std::nullopt;
      cut.activation = value;
    }
    if (cut.activation == Graph::none || graph_.value(cut.activation).storage != Storage::planned ||
        !cut_back(cut))
      return std::nullopt;
    for (const std::size_t i : forward_)
      if (i <= node) cut.flops += graph_.nodes[i].problem->flops();
    for (const std::size_t i : backward_)
      if (i > cut.backward) cut.flops += graph_.nodes[i].problem->flops();
    for (const Parameter& parameter : graph_.parameters)
      if (first_.at(parameter.value) <= node) ++cut.parameters;
    return cut;
  }

 private:
  /// The parameter, if `value` is its gradient (both belong to the same stage); else `value`.
  ValueIndex owner_value(ValueIndex value) const {
    const auto parameter = value_of_gradient_.find(value);
    return parameter == value_of_gradient_.end() ? value : parameter->second;
  }

  /// First: the backward node must be in the stages behind the cut. Second: it must be in those
  /// before the cut.
  std::pair<bool, bool> sides(const GraphNode& node, const StageCut& cut) const {
    const auto layer = layer_.find(node.layer);
    bool behind = layer != layer_.end() && node.phase == Phase::backward &&
                  !node.direction.starts_with("sum") && layer->second > cut.forward,
         before = false;
    for (const auto& [name, touched] : node.tensors) {
      if (is_of_every_stage(graph_, touched)) continue;
      const ValueIndex value = owner_value(touched);
      const std::size_t first = first_.at(value);
      if (value == cut.activation || graph_.nodes[first].phase != Phase::forward) continue;
      (first > cut.forward ? behind : before) = true;
    }
    return {behind, before};
  }

  /// Cuts the backward pass at the earliest point where only one gradient crosses.
  bool cut_back(StageCut& cut) const {
    std::optional<std::size_t> first_before, last_behind;
    for (const std::size_t i : backward_) {
      const auto [behind, before] = sides(graph_.nodes[i], cut);
      if (behind) last_behind = i;
      if (before && !first_before) first_before = i;
    }
    if (!last_behind || !first_before || *last_behind >= *first_before) return false;
    for (std::size_t last = *last_behind; last < *first_before; ++last) {
      cut.gradient = Graph::none;
      int crossing = 0;
      for (const auto& [value, first] : first_) {
        if (graph_.nodes[first].phase == Phase::forward || first > last || last_.at(value) <= last)
          continue;
        ++crossing;
        cut.gradient = value;
      }
      if (crossing != 1) continue;
      cut.backward = last;
      return graph_.elements(cut.gradient) == graph_.elements(cut.activation);
    }
    return false;
  }

  const Graph& graph_;
  std::vector<std::size_t> forward_, backward_;
  std::map<std::string, std::size_t> layer_;  ///< last forward node of each layer
  std::map<ValueIndex, ValueIndex> value_of_gradient_;
  /// The first node that uses a value (it writes the value) and the last one.
  std::map<ValueIndex, std::size_t> first_, last_, last_forward_;
};

/// Copies a part of a graph.
class PartOfGraph {
 public:
  explicit PartOfGraph(const Graph& whole) : whole_(whole) {
    part_.precision = whole.precision;
    for (ValueIndex Graph::*const of_all :
         {&Graph::weights, &Graph::stored, &Graph::batch_statistics, &Graph::batch_gradients})
      if (whole.*of_all != Graph::none) part_.*of_all = copied(whole.*of_all);
    part_.gradients = part_.batch_gradients;
  }

  ValueIndex copied(ValueIndex value) {
    const auto known = index_.find(value);
    if (known != index_.end()) return known->second;
    GraphValue copy = whole_.value(value);
    if (copy.storage == Storage::part) copy.whole = copied(copy.whole);
    part_.values.push_back(std::move(copy));
    return index_[value] = part_.values.size() - 1;
  }

  /// A loss node also computes the gradient of its bias. Here it belongs to the backward pass,
  /// because micro-batches in flight share the memory of gradients.
  void add(const GraphNode& node) {
    GraphNode copy = node;
    for (auto& [name, value] : copy.tensors) {
      makes_gradients_ = makes_gradients_ || is_gradient(value);
      value = copied(value);
    }
    if (makes_gradients_) copy.phase = Phase::backward;
    part_.nodes.push_back(std::move(copy));
  }

  /// Call it after the last node. A value that messages fill gets its own memory, outside the
  /// arena.
  ValueIndex crossing(ValueIndex value) {
    if (value == Graph::none) return value;
    const ValueIndex own = copied(value);
    part_.values[own].storage = Storage::persistent;
    return own;
  }

  Graph finish(const Learning& learning, bool accumulates) {
    for (const Parameter& parameter : whole_.parameters) {
      if (!index_.contains(parameter.value)) continue;
      Parameter copy = parameter;
      copy.value = copied(parameter.value);
      copy.gradient = copied(parameter.gradient);
      part_.parameters.push_back(std::move(copy));
    }
    const std::int64_t statistics = add_statistics();
    for (ValueIndex Graph::*const single :
         {&Graph::images, &Graph::labels, &Graph::logits, &Graph::losses, &Graph::correct,
          &Graph::correlations, &Graph::confusion, &Graph::logits_bias, &Graph::loss_scale,
          &Graph::passes})
      if (const auto known = index_.find(whole_.*single); known != index_.end())
        part_.*single = known->second;
    return finish_training(GraphBuilder(std::move(part_), statistics), learning, accumulates);
  }

 private:
  /// Adds the normalizations whose means the part's nodes use, one after the other.
  std::int64_t add_statistics() {
    std::int64_t end = 0;
    for (const Statistics& all : whole_.statistics) {
      const std::int64_t room = all.variance - all.mean;
      bool mine = false;
      for (const auto& [value, own] : index_) {
        const GraphValue& graph_value = whole_.value(value);
        if (graph_value.storage != Storage::part || graph_value.whole != whole_.batch_statistics)
          continue;
        if (graph_value.offset != all.mean && graph_value.offset != all.variance) continue;
        part_.values[own].offset = graph_value.offset - all.mean + end;
        mine = true;
      }
      if (!mine) continue;
      Statistics copy = all;
      copy.mean = end;
      copy.variance = end + room;
      part_.statistics.push_back(std::move(copy));
      end += 2 * room;
    }
    return end;
  }

  bool is_gradient(ValueIndex value) const {
    const GraphValue& graph_value = whole_.value(value);
    return graph_value.storage == Storage::part && graph_value.whole == whole_.batch_gradients;
  }

  const Graph& whole_;
  Graph part_;
  std::map<ValueIndex, ValueIndex> index_;
  bool makes_gradients_ = false;  ///< an added node makes gradients
};

/// Bytes of activations and statistics that a forward node writes and a backward node reads.
double count_waiting_bytes(const Stage& stage) {
  const Graph& graph = stage.graph;
  std::set<ValueIndex> forward, waiting;
  for (const GraphNode& node : graph.nodes)
    for (const auto& [name, value] : node.tensors) {
      const bool activation = graph.value(value).storage == Storage::planned ||
                              value == stage.input || value == stage.output ||
                              value == graph.images;
      if (!activation) continue;
      if (node.phase == Phase::forward) forward.insert(value);
      if (node.phase == Phase::backward && forward.contains(value)) waiting.insert(value);
    }
  double bytes = 0;
  for (const ValueIndex value : waiting)
    bytes += static_cast<double>(graph.elements(value)) *
             static_cast<double>(size_of(graph.value(value).type));
  return bytes;
}

}  // namespace

std::vector<StageCut> stage_cuts(const Graph& pass) {
  const Crossings crossings(pass);
  std::vector<StageCut> cuts;
  for (const std::size_t node : crossings.forward())
    if (const auto cut = crossings.after(node)) cuts.push_back(*cut);
  return cuts;
}

Result<std::vector<StageCut>> balance_cuts(const Graph& pass, int stages) {
  std::vector<StageCut> ends = stage_cuts(pass);
  const std::size_t places = ends.size();
  StageCut all;
  all.flops = pass.flops();
  all.parameters = pass.parameters.size();
  ends.push_back(all);
  constexpr double never = std::numeric_limits<double>::infinity();
  // The largest FLOPs of a stage, by number of stages and the place where the last one ends.
  std::vector<std::vector<double>> most(static_cast<std::size_t>(stages),
                                        std::vector<double>(ends.size(), never));
  std::vector<std::vector<std::size_t>> before(most.size(), std::vector<std::size_t>(ends.size()));
  for (std::size_t end = 0; end < ends.size(); ++end)
    if (ends[end].parameters > 0) most[0][end] = ends[end].flops;
  for (std::size_t stage = 1; stage < most.size(); ++stage)
    for (std::size_t end = 0; end < ends.size(); ++end)
      for (std::size_t begin = 0; begin < end; ++begin) {
        if (ends[end].parameters == ends[begin].parameters) continue;
        const double here = std::max(most[stage - 1][begin], ends[end].flops - ends[begin].flops);
        if (here >= most[stage][end]) continue;
        most[stage][end] = here;
        before[stage][end] = begin;
      }
  if (most.back().back() == never)
    return Unsupported{fmt::format(
        "the network has only {} places that one activation crosses, too few for {} stages that "
        "have parameters. Use fewer.",
        places, stages)};
  std::vector<StageCut> cuts;
  std::size_t end = places;
  for (std::size_t stage = most.size(); stage-- > 1;) {
    end = before[stage][end];
    cuts.insert(cuts.begin(), ends[end]);
  }
  return cuts;
}

std::vector<Stage> stages_between(const Graph& pass, const std::vector<StageCut>& cuts,
                                  const Learning& learning, bool accumulates) {
  std::vector<Stage> stages;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const StageCut* const begin = i > 0 ? &cuts[i - 1] : nullptr;
    const StageCut* const end = i < cuts.size() ? &cuts[i] : nullptr;
    Stage stage;
    PartOfGraph part(pass);
    for (std::size_t n = 0; n < pass.nodes.size(); ++n) {
      const bool forward = pass.nodes[n].phase == Phase::forward;
      const bool mine = forward ? (!begin || n > begin->forward) && (!end || n <= end->forward)
                                : (!begin || n <= begin->backward) && (!end || n > end->backward);
      if (!mine) continue;
      part.add(pass.nodes[n]);
      stage.flops += pass.nodes[n].problem->flops();
    }
    if (begin) {
      stage.input = part.crossing(begin->activation);
      stage.input_gradient = part.crossing(begin->gradient);
    }
    if (end) {
      stage.output = part.crossing(end->activation);
      stage.output_gradient = part.crossing(end->gradient);
    }
    stage.graph = part.finish(learning, accumulates);
    stage.waiting_bytes = count_waiting_bytes(stage);
    stages.push_back(std::move(stage));
  }
  return stages;
}

}  // namespace assay
