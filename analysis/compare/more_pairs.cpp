#include "analysis/compare/more_pairs.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "core/base/text.hpp"

namespace assay {

namespace {

/// The parameters of a row: those that say what the work is, with the problem, and those that say
/// how it was done, but for the ones that vary.
struct RowParts {
  std::string work;
  std::map<std::string, std::string> system;
};

RowParts parts_of(const Row& row, const Variation& vary) {
  static const std::vector<std::string> none;
  const std::vector<std::string>& of_system = row.system_parameters ? *row.system_parameters : none;
  RowParts parts{row.benchmark + " " + row.problem.descriptor, {}};
  for (const auto& [name, value] : row.parameters) {
    if (std::ranges::count(vary.parameters, name) > 0) continue;
    if (std::ranges::count(of_system, name) > 0)
      parts.system[name] = row.parameter(name);
    else
      parts.work += " " + name + "=" + row.parameter(name);
  }
  return parts;
}

using Rows = std::multimap<std::string, std::map<std::string, std::string>>;

/// The measured rows of a side: their parameters of the system, by their work.
Rows rows_by_work(const Side& side, const Variation& vary) {
  Rows rows;
  for (const auto& [key, row] : side.rows())
    if (row.measured()) {
      RowParts parts = parts_of(row.row(), vary);
      rows.emplace(std::move(parts.work), std::move(parts.system));
    }
  return rows;
}

/// By which further values two rows of equal work differ. A value that one of them does not have
/// cannot be chosen: no difference is then given.
std::optional<MorePairs> difference(const std::map<std::string, std::string>& base,
                                    const std::map<std::string, std::string>& updated) {
  MorePairs values;
  if (base.size() != updated.size()) return std::nullopt;
  for (const auto& [name, was] : base) {
    const auto is = updated.find(name);
    if (is == updated.end() || was.empty() != is->second.empty()) return std::nullopt;
    if (was == is->second) continue;
    values.names.push_back(name);
    values.base.push_back(name + "=" + was);
    values.updated.push_back(name + "=" + is->second);
  }
  return values;
}

}  // namespace

std::vector<MorePairs> find_more_pairs(const Side& base, const Side& updated,
                                       const Variation& vary) {
  constexpr std::size_t most = 3;
  std::map<std::string, MorePairs> all;
  const Rows others = rows_by_work(updated, vary);
  for (const auto& [work, system] : rows_by_work(base, vary)) {
    const auto [first, end] = others.equal_range(work);
    for (auto other = first; other != end; ++other)
      if (auto values = difference(system, other->second)) {
        MorePairs& known = all[join(values->base, ",") + " " + join(values->updated, ",")];
        values->rows = known.rows + 1;
        known = std::move(*values);
      }
  }
  std::size_t now = 0;
  std::vector<MorePairs> more;
  for (auto& [text, values] : all) {
    if (values.names.empty())
      now = values.rows;
    else
      more.push_back(std::move(values));
  }
  std::erase_if(more, [now](const MorePairs& values) { return values.rows <= now; });
  std::ranges::stable_sort(more, std::greater(), &MorePairs::rows);
  more.resize(std::min(more.size(), most));
  return more;
}

}  // namespace assay
