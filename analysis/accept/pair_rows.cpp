#include "analysis/accept/pair_rows.hpp"

#include <algorithm>
#include <vector>

#include "core/base/text.hpp"

namespace assay {

namespace {

/// Whether a node of both pairs is judged by the first: the faster one, or where none has a time
/// the one that tells a graver fault.
bool tells_more(const NodeRow& a, const NodeRow& b) {
  if (a.value && b.value) return *a.value < *b.value;
  if (a.value || b.value) return a.value.has_value();
  return row_gravity(a.status) > row_gravity(b.status);
}

Node& node_of(Fleet& fleet, const std::string& name) {
  const auto place = std::ranges::lower_bound(fleet.nodes, name, {}, &Node::name);
  return place != fleet.nodes.end() && place->name == name
             ? *place
             : *fleet.nodes.insert(place, Node{name, {}, {}, {}});
}

}  // namespace

double typical_time(const std::map<std::string, double>& pairs) {
  std::map<std::string, std::size_t> of_node;
  std::size_t of_a_node = 0;
  std::vector<double> times;
  for (const auto& [pair, time] : pairs) {
    times.push_back(time);
    for (const std::string& node : split(pair, '+'))
      of_a_node = std::max(of_a_node, ++of_node[node]);
  }
  std::sort(times.begin(), times.end());
  const std::size_t left = times.size() > of_a_node ? times.size() - of_a_node : 1;
  return times[(left - 1) / 2];
}

void add_pairs(Fleet& fleet, const std::string& id, const std::map<std::string, NodeRow>& pairs) {
  if (pairs.size() == 1) {
    fleet.multi_node.insert({id, pairs.begin()->second});
    return;
  }
  std::map<std::string, NodeRow> best;
  std::map<std::string, double> times;
  std::map<std::string, std::size_t> counts;
  for (const auto& [pair, row] : pairs) {
    if (row.value) times[pair] = *row.value;
    for (const std::string& end : split(pair, '+')) {
      ++counts[end];
      const auto [known, fresh] = best.try_emplace(end, row);
      if (!fresh && !tells_more(row, known->second)) continue;
      known->second = row;
      known->second.pair = pair;
    }
  }
  // The best of many pairs is faster than most of them by chance alone.
  const double typical = times.empty() ? 0 : typical_time(times);
  for (const auto& [pair, row] : pairs) {
    Fleet::Path path{id, split(pair, '+'), row, typical};
    path.row.pair = pair;
    for (const std::string& end : path.ends)
      path.expected = std::max(path.expected, best.at(end).value.value_or(0));
    fleet.paths.push_back(std::move(path));
  }
  for (auto& [name, row] : best) {
    row.pairs = counts[name];
    node_of(fleet, name).rows.insert_or_assign(id, std::move(row));
  }
}

}  // namespace assay
