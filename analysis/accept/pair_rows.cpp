#include "analysis/accept/pair_rows.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "analysis/load.hpp"
#include "core/base/input_file.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// True if pair `a` rather than `b` judges a node that is in both: it is faster, or, if neither has
/// a time, its fault is more severe.
bool tells_more(const NodeRow& a, const NodeRow& b) {
  if (a.value && b.value) return *a.value < *b.value;
  if (a.value || b.value) return a.value.has_value();
  return find_row_gravity(a.status) > find_row_gravity(b.status);
}

Node& find_node(Fleet& fleet, const std::string& name) {
  const auto place = std::ranges::lower_bound(fleet.nodes, name, {}, &Node::name);
  return place != fleet.nodes.end() && place->name == name
             ? *place
             : *fleet.nodes.insert(place, Node{name, {}, {}, {}});
}

/// The pairs in the file `list`; empty if the file does not exist.
std::set<std::string> pairs_in(const fs::path& list) {
  std::set<std::string> pairs;
  if (fs::exists(list))
    for (const std::string& pair : split(read_text_file(list), '\n'))
      if (pair.find('+') != std::string::npos) pairs.insert(pair);
  return pairs;
}

}  // namespace

PairsOfRuns pair_runs(const std::vector<std::string>& inputs) {
  PairsOfRuns pairs;
  std::map<fs::path, std::set<std::string>> lists;  // by folder
  const auto find_pairs = [&](const fs::path& folder) -> const std::set<std::string>& {
    const auto [known, fresh] = lists.try_emplace(folder);
    if (fresh) known->second = pairs_in(folder / pair_list);
    return known->second;
  };
  for (const std::string& input : inputs) {
    const bool is_folder = fs::is_directory(input);
    const fs::path top = fs::weakly_canonical(input);
    std::set<fs::path> below;  // a list above `input` also contains pairs that are not in `input`
    if (is_folder) below.insert(top);
    for (const fs::path& file : list_result_files({input})) {
      const fs::path run = fs::weakly_canonical(file).parent_path(), folder = run.parent_path();
      if (find_pairs(folder).contains(run.filename().string()))
        pairs.results.insert(is_folder && run == top ? input : file.string());
      if (is_folder && run != top) below.insert(folder);
    }
    for (const fs::path& folder : below)
      for (const std::string& pair : find_pairs(folder))
        if (!fs::exists(folder / pair / "result.json")) pairs.report_missing_result.insert(pair);
  }
  return pairs;
}

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
    const NodeRow& row = pairs.begin()->second;
    const auto [known, fresh] = fleet.multi_node.try_emplace(id, row);
    if (!fresh && find_row_gravity(row.status) > find_row_gravity(known->second.status))
      known->second = row;
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
  // The best of many pairs is faster than most pairs by chance alone.
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
    find_node(fleet, name).rows.insert_or_assign(id, std::move(row));
  }
}

}  // namespace assay
