#include "analysis/table/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/table/cells.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Texts of one parameter, by benchmark; "" where a row lacks it.
using Texts = std::map<std::string, std::set<std::string>>;

Texts texts_of(const std::vector<Series>& all, const std::string& name) {
  Texts texts;
  for (const Series& series : all)
    texts[text_of(series.first(), "benchmark")].insert(axis_text(series, name));
  return texts;
}

bool repeats_the_problem(const std::vector<Series>& all, const std::string& name) {
  return all.size() > 1 && std::all_of(all.begin(), all.end(), [&](const Series& series) {
           const std::string text = axis_text(series, name);
           return text.empty() || text == series.problem() ||
                  text == text_of(series.first().at("problem"), "descriptor");
         });
}

}  // namespace

std::string axis_text(const Series& series, const std::string& name) {
  return name == "algorithm" ? series.algorithm() : series.parameter(name);
}

std::vector<std::string> parameter_names(const std::vector<Series>& all) {
  std::set<std::string> known;
  for (const Series& series : all)
    for (const auto& [name, value] : series.first().at("parameters").items()) known.insert(name);
  std::vector<std::string> names;
  for (const char* first : {"direction", "precision", "backend", "algorithm"})
    if (known.erase(first) > 0) names.emplace_back(first);
  known.erase("problem");  // the first column
  names.insert(names.end(), known.begin(), known.end());
  return names;
}

std::set<std::string> shared_parameters(const std::vector<Series>& all) {
  std::set<std::string> shared;
  for (const std::string& name : parameter_names(all)) {
    const Texts texts = texts_of(all, name);
    if (std::all_of(texts.begin(), texts.end(), [&](const auto& benchmark) {
          return benchmark.second.size() == 1 && benchmark.second == texts.begin()->second;
        }))
      shared.insert(name);
  }
  return shared;
}

void add_axes(Table& table, const std::vector<Series>& rows, const std::vector<std::string>& axes) {
  for (const std::string& axis : axes)
    table.add({axis}, [&](std::size_t i) { return axis_text(rows[i], axis); });
}

Axes axes_of(const std::vector<Series>& all, const std::string& by,
             const std::set<std::string>& told) {
  const std::vector<std::string> names = parameter_names(all);
  if (!by.empty() && std::find(names.begin(), names.end(), by) == names.end()) {
    std::vector<std::string> known = names;
    known.emplace_back("system");  // prepared() makes it a parameter where it is asked for
    throw InputError(unknown_name("parameter for --by", by, known));
  }
  Axes axes;
  std::vector<std::string> everywhere;
  std::map<std::string, std::vector<std::string>> within;  // by benchmark
  for (const std::string& name : names) {
    if (name == by || told.contains(name)) continue;
    const Texts texts = texts_of(all, name);
    const bool constant = std::all_of(texts.begin(), texts.end(), [](const auto& benchmark) {
      return benchmark.second.size() == 1;
    });
    if (!constant) {
      if (!repeats_the_problem(all, name)) axes.shown.push_back(name);
      continue;
    }
    const bool same = std::all_of(texts.begin(), texts.end(), [&](const auto& benchmark) {
      return benchmark.second == texts.begin()->second;
    });
    for (const auto& [benchmark, text] : texts) {
      if (text.begin()->empty()) continue;
      (same ? everywhere : within[benchmark]).push_back(name + " " + *text.begin());
      if (same) break;
    }
  }
  if (!everywhere.empty()) axes.constants.push_back("all rows: " + join(everywhere, ", "));
  for (const auto& [benchmark, texts] : within)
    axes.constants.push_back(benchmark + ": " + join(texts, ", "));
  return axes;
}

void choose(Axes& axes, const std::vector<Series>& all, const std::string& by,
            const std::vector<std::string>& columns) {
  if (columns.empty()) return;
  std::vector<std::string> names = parameter_names(all);
  std::erase(names, by);
  if (columns == std::vector<std::string>{"all"}) {
    axes = {names, {}};
    return;
  }
  axes.shown.clear();
  for (const std::string& column : columns) {
    if (std::find(names.begin(), names.end(), column) == names.end())
      throw InputError(unknown_name("column", column, names) +
                       " With --by only parameters are chosen: a column for each value follows.");
    axes.shown.push_back(column);
  }
}

}  // namespace assay
