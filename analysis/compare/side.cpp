#include "analysis/compare/side.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/text.hpp"

namespace assay {

namespace {

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Fills in the form of the id (make_id_form), with "*" for the values of `varied`; those that an
/// id may omit are left out. `problem`: the text for the problem.
std::string fill_form(const Row& row, const std::vector<std::string>& varied,
                      const std::string& problem) {
  std::string id;
  for (std::size_t at = 0; at < row.id_form.size();) {
    const std::size_t open = std::min(row.id_form.find_first_of("{[", at), row.id_form.size());
    id += row.id_form.substr(at, open - at);
    if (open == row.id_form.size()) break;
    const bool always = row.id_form[open] == '{';
    const std::size_t close = row.id_form.find(always ? '}' : ']', open);
    if (close == std::string::npos) return "";
    const std::string inside = row.id_form.substr(open + 1, close - open - 1);
    const std::size_t equal = inside.find('=');
    if (always) {
      id += is_among(varied, inside) ? "*" : inside == "problem" ? problem : row.parameter(inside);
    } else if (equal != std::string::npos) {
      const std::string name = inside.substr(1, equal - 1), value = row.parameter(name);
      if (!is_among(varied, name) && value != inside.substr(equal + 1))
        id += "/" + name + "=" + value;
    }
    at = close + 1;
  }
  return id;
}

/// The id with "*" in place of the values of these parameters. A parameter that is written with its
/// name is left out, as ids do for its default value.
std::string make_key(const Row& row, const std::vector<std::string>& varied) {
  if (varied.empty()) return row.id;
  const bool in_form = std::ranges::all_of(varied, [&](const std::string& name) {
    return row.id_form.find("{" + name + "}") != std::string::npos ||
           row.id_form.find("[/" + name + "=") != std::string::npos;
  });
  if (in_form)
    for (const std::string& problem : {row.problem.descriptor, row.parameter("problem")})
      if (fill_form(row, {}, problem) == row.id) return fill_form(row, varied, problem);
  // A row of another program.
  std::vector<std::string> parts = split(row.id, '/');
  for (const std::string& name : varied) {
    const std::string value = row.parameter(name);
    if (std::erase(parts, name + "=" + value) > 0) continue;
    if (const auto part = std::find(parts.begin(), parts.end(), value); part != parts.end())
      *part = "*";
  }
  return join(parts, "/");
}

}  // namespace

bool keep_for_comparison(Row& row, std::string_view, const RunResult&) {
  std::string form = std::move(row.id_form);
  auto system_parameters = std::move(row.system_parameters);
  Row kept = take_case_and_time(row);
  kept.id_form = std::move(form);
  kept.system_parameters = std::move(system_parameters);
  if (row.published) kept.rates = std::move(row.rates);
  row = std::move(kept);
  return true;
}

Side::Side(std::string name, Results results, const Variation& vary) {
  struct KeyRows {
    LaunchGroups groups;
    std::map<std::string, std::pair<const RunHeader*, const ResultEnvironment*>> environments;
    std::set<std::string> ids;
  };
  std::map<std::string, KeyRows> keys;
  std::set<std::string> systems;
  std::int64_t first_launch = 0;
  results_.reserve(results.size());
  for (NamedResult& named : results) {
    Source& source = results_.emplace_back(Source{std::move(named.result)});
    summary_.files.push_back(named.name.empty() ? name : named.name);
    systems.insert(source.result.system);
    std::int64_t last_launch = 0;
    for (Row& row : source.result.rows) {
      KeyRows& rows = keys[make_key(row, vary.parameters)];
      const ResultEnvironment& environment = source.result.environment(row);
      const std::string key = environment.key();
      // Each run counts its launches from zero, so a side renumbers the launches of all its runs.
      row.launch += first_launch;
      last_launch = std::max(last_launch, row.launch);
      rows.ids.insert(row.id);
      rows.environments.try_emplace(key, &source.result.run, &environment);
      source.measured = source.measured || !row.published;
      rows.groups.add(std::move(row), key);
    }
    source.result.rows.clear();
    first_launch = last_launch + 1;
  }
  summary_.system = join(std::vector<std::string>(systems.begin(), systems.end()), ", ");
  summary_.name = std::move(name);
  for (auto& [key, rows] : keys) {
    std::vector<Launches> launches = rows.groups.take();
    SideRow& row = rows_[key];
    std::tie(row.run, row.environment) = rows.environments.at(launches.front().environment);
    row.environments = launches.size();
    row.variants = rows.ids.size();
    // An error in any environment counts for the row.
    std::size_t chosen = 0;
    for (const char* error : {"target missed", "timeout", "failed", "incorrect"})
      for (std::size_t i = 0; i < launches.size(); ++i)
        if (launches[i].status == error) chosen = i;
    row.launches = std::move(launches[chosen]);
  }
}

namespace {

/// The parameters of a row, except those that vary, in two parts: those that define the work, with
/// the problem; and those that say how it was done.
struct RowParts {
  std::string work;
  std::map<std::string, std::string> system;
};

RowParts split_row(const Row& row, const Variation& vary) {
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

/// The measured rows of a side: their system parameters, by their work.
Rows rows_by_work(const Side& side, const Variation& vary) {
  Rows rows;
  for (const auto& [key, row] : side.rows())
    if (row.measured()) {
      RowParts parts = split_row(row.row(), vary);
      rows.emplace(std::move(parts.work), std::move(parts.system));
    }
  return rows;
}

/// The other values in which two rows of equal work differ. If one of the rows lacks a value, it
/// cannot be chosen, and nothing is returned.
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
