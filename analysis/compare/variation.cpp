#include "analysis/compare/variation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/table/table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

using ValuesOfRows = std::map<std::string, std::set<std::string>>;

/// The values that rows have, by parameter.
ValuesOfRows values_of_rows(const Results& results) {
  ValuesOfRows values;
  for (const NamedResult& result : results)
    for (const Row& row : result.rows())
      for (const auto& [name, value] : row.parameters)
        if (!value.is_null()) values[name].insert(row.parameter(name));
  return values;
}

/// Refuses a parameter or a value that no row has, and values that no single row has together.
void check_selection(const Selection& selection, const ValuesOfRows& known,
                     const Results& results) {
  std::vector<std::string> names;
  for (const auto& [name, values] : known) names.push_back(name);
  for (const auto& [name, value] : selection.values()) {
    if (!known.contains(name))
      throw InputError(explain_unknown_name("parameter of " + selection.flag(), name, names));
    const std::vector<std::string> values(known.at(name).begin(), known.at(name).end());
    if (std::ranges::find(values, value) == values.end())
      throw InputError(explain_unknown_name(
          fmt::format("value of {} in {}", name, selection.flag()), value, values));
  }
  const bool any = std::ranges::any_of(results, [&](const NamedResult& result) {
    return std::ranges::any_of(result.rows(), [&](const Row& row) { return selection.holds(row); });
  });
  if (!any)
    throw InputError(fmt::format("{} {}: no row has these values together. Leave one of them out.",
                                 selection.flag(), selection.text()));
}

/// True if a parameter says how the work was done, and does not define it, according to the rows.
bool is_of_system(const std::string& name, const Results& results) {
  return std::ranges::any_of(results, [&](const NamedResult& result) {
    return std::ranges::any_of(result.rows(), [&](const Row& row) {
      return row.system_parameters && std::ranges::count(*row.system_parameters, name) > 0;
    });
  });
}

/// True if in every chosen row with several ranks, the ranks share its problem: their number then
/// says how the work was done.
bool ranks_share(const Results& results, const Selection& base, const Selection& updated) {
  return std::ranges::all_of(results, [&](const NamedResult& result) {
    return std::ranges::all_of(result.rows(), [&](const Row& row) {
      return (!base.holds(row) && !updated.holds(row)) || row.number("ranks").value_or(1) == 1 ||
             row.problem.shared_by.value_or(1) > 1;
    });
  });
}

}  // namespace

Variation::Variation(const std::string& vary) : name(vary) {
  if (vary == "precision") parameters = {"precision"};
  if (vary == "backend") parameters = {"backend", "algorithm"};
  other_libraries = vary == "backend";
}

Selection::Selection(std::string flag, const std::vector<std::string>& texts)
    : flag_(std::move(flag)) {
  for (const std::string& text : texts) {
    const std::size_t equal = text.find('=');
    if (equal == 0 || equal == std::string::npos || equal + 1 == text.size())
      throw InputError(fmt::format(
          "{} '{}' is not a selection (a parameter and its value are needed). Give NAME=VALUE, "
          "like backend=onednn.",
          flag_, text));
    const std::string name = text.substr(0, equal);
    if (!values_.emplace(name, text.substr(equal + 1)).second)
      throw InputError(
          fmt::format("{} gives {} twice (a side has one value of it). Give one.", flag_, name));
  }
}

std::string Selection::text() const {
  std::vector<std::string> parts;
  for (const auto& [name, value] : values_) parts.push_back(name + "=" + value);
  return join(parts, ",");
}

bool Selection::holds(const Row& row) const {
  return std::ranges::all_of(
      values_, [&](const auto& value) { return row.parameter(value.first) == value.second; });
}

Variation find_variation(const Selection& base, const Selection& updated, const Results& results) {
  const ValuesOfRows known = values_of_rows(results);
  std::set<std::string> names;
  for (const Selection* side : {&base, &updated}) {
    check_selection(*side, known, results);
    for (const auto& [name, value] : side->values()) names.insert(name);
  }
  Variation variation;
  std::vector<std::string> work;
  for (const std::string& name : names) {
    const auto was = base.values().find(name), is = updated.values().find(name);
    if (was != base.values().end() && is != updated.values().end() && was->second == is->second)
      continue;
    variation.parameters.push_back(name);
    const bool of_ranks = name == "ranks" || name == "nodes";
    if (is_of_system(name, results) || (of_ranks && ranks_share(results, base, updated)))
      variation.other_libraries = true;
    else if (name != "precision")
      work.push_back(name);
  }
  if (variation.parameters.empty())
    throw InputError(
        fmt::format("--base and --new both choose the rows of {} (a side always equals itself). "
                    "Give another value to one of them.",
                    base.text()));
  variation.name = join(variation.parameters, ", ");
  if (!work.empty())
    variation.note = fmt::format(
        "{} {} part of the work: the sides do not do the same, and a ratio is only that "
        "of their times",
        join(work, ", "), work.size() == 1 ? "is" : "are");
  return variation;
}

Results select_rows(Results results, const Selection& selection) {
  for (NamedResult& named : results)
    std::erase_if(named.result.rows, [&](const Row& row) { return !selection.holds(row); });
  return results;
}

Results filter_rows(Results results, const std::vector<std::string>& clauses) {
  if (clauses.empty()) return results;
  std::set<std::pair<std::size_t, std::string>> kept;
  for (const Series& series : filter_series(results, make_series(results), clauses))
    kept.emplace(series.result, series.first().id);
  for (std::size_t i = 0; i < results.size(); ++i)
    std::erase_if(results[i].result.rows, [&](const Row& row) {
      return !kept.contains({i, row.id});
    });
  return results;
}

}  // namespace assay
