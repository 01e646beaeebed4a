// The acceptance of a fleet, as a page can hold it.

#include <algorithm>

#include "analysis/accept/checks.hpp"
#include "analysis/report/parts.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

constexpr std::size_t most_whole_nodes = 100;  ///< that did not pass, with all of their rows
constexpr std::size_t most_rows = 20;          ///< of each other node that did not pass

bool needs_a_look(const json& row) {
  return row.at("verdict") != verdict::pass || row.value("disturbed", false) ||
         row.value("throttled", false);
}

}  // namespace

json condensed_acceptance(json document) {
  json& nodes = document["nodes"];
  if (nodes.size() <= most_nodes) return document;
  std::vector<json*> failed;
  for (json& node : nodes) {
    node["rows_of"] = node["rows"].size() + node.value("rows_missing", std::size_t{0});
    node["health"].erase("before");
    node["health"].erase("after");
    for (json& row : node["rows"]) row.erase("checks");
    // A node without a result has nothing to show but its verdict.
    if (node.at("verdict") != verdict::pass && !node["rows"].empty()) failed.push_back(&node);
  }
  // The gravest first; among equals the slowest.
  const auto rank = [](const json& node) {
    const json& score = node.at("score");
    return std::pair(verdict::severity(node.at("verdict")),
                     score.is_number() ? score.get<double>() : 0.0);
  };
  std::stable_sort(failed.begin(), failed.end(),
                   [&](const json* a, const json* b) { return rank(*a) > rank(*b); });
  failed.resize(std::min(failed.size(), most_whole_nodes));
  for (json& node : nodes) {
    if (std::find(failed.begin(), failed.end(), &node) != failed.end()) continue;
    json kept = json::array();
    for (json& row : node["rows"])
      if (needs_a_look(row) && kept.size() < most_rows) kept.push_back(std::move(row));
    node["rows"] = std::move(kept);
  }
  return document;
}

}  // namespace assay::report
