#include "analysis/table/axes.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

bool repeats_the_problem(const SeriesList& all, const std::string& name) {
  return all.size() > 1 && std::ranges::all_of(all, [&](const Series& series) {
           const std::string text = format_axis(series, name);
           return text.empty() || text == series.problem() ||
                  text == series.first().problem.descriptor;
         });
}

bool has(const Texts& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Texts Axes::lines() const {
  Texts lines;
  if (!shared.empty()) lines.push_back("all rows: " + join(shared, ", "));
  for (const auto& [benchmark, texts] : within)
    lines.push_back(benchmark + ": " + join(texts, ", "));
  return lines;
}

std::string format_axis(const Series& series, const std::string& name) {
  return name == "algorithm" ? series.algorithm() : series.parameter(name);
}

Texts list_parameter_names(const SeriesList& all) {
  std::set<std::string> known;
  for (const Series& series : all)
    for (const auto& [name, value] : series.first().parameters) known.insert(name);
  Texts names;
  for (const char* first : {"direction", "precision", "backend", "algorithm"})
    if (known.erase(first) > 0) names.emplace_back(first);
  known.erase("problem");  // the first column
  names.insert(names.end(), known.begin(), known.end());
  return names;
}

void add_axes(Table& table, const SeriesList& rows, const Texts& axes) {
  for (const std::string& axis : axes)
    table.add({axis}, [&](std::size_t i) { return format_axis(rows[i], axis); });
}

Axes find_axes(const SeriesList& all, const std::string& by,
               const std::set<std::string>& constant_names) {
  const Texts names = list_parameter_names(all);
  if (!by.empty() && !has(names, by)) {
    Texts known = names;
    known.emplace_back("system");  // select_series() makes it a parameter on request
    throw InputError(explain_unknown_name("parameter for --by", by, known));
  }
  Axes axes;
  for (const std::string& name : names) {
    if (name == by || constant_names.contains(name)) continue;
    std::map<std::string, std::set<std::string>> texts;  // by benchmark; "" if a row lacks it
    for (const Series& series : all)
      texts[series.first().benchmark].insert(format_axis(series, name));
    if (!std::ranges::all_of(texts, [](const auto& entry) { return entry.second.size() == 1; })) {
      if (!repeats_the_problem(all, name)) axes.shown.push_back(name);
      continue;
    }
    const bool same = std::ranges::all_of(
        texts, [&](const auto& entry) { return entry.second == texts.begin()->second; });
    if (same) axes.same.insert(name);
    for (const auto& [benchmark, values] : texts) {
      if (values.begin()->empty()) continue;
      (same ? axes.shared : axes.within[benchmark]).push_back(name + " " + *values.begin());
      if (same) break;
    }
  }
  return axes;
}

void choose(Axes& axes, const SeriesList& all, const std::string& by, const Texts& columns) {
  if (columns.empty()) return;
  Texts names = list_parameter_names(all);
  std::erase(names, by);
  if (columns == Texts{"all"}) {
    axes = {names};
    return;
  }
  for (const std::string& column : columns)
    if (!has(names, column))
      throw InputError(
          explain_unknown_name("column", column, names) +
          " With --by parameters are chosen, and rate: a column for each value follows, of times "
          "and ratios, or of rates.");
  axes.shown = columns;
}

}  // namespace assay
