#include "analysis/model/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <numbers>
#include <set>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

bool logarithmic(const std::string& function) { return function == "log" || function == "log2"; }

json left_out(const FittedModel& model, const std::string& kind, const std::string& what,
              const std::function<bool(const Observation&)>& leave) {
  json entry = {{"kind", kind},         {"left_out", what}, {"n", 0},
                {"rms_error", nullptr}, {"worst", nullptr}, {"worst_ratio", nullptr},
                {"reason", nullptr}};
  const auto& all = model.frame.observations();
  Columns rest(model.design.columns().size());
  std::vector<double> response;
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (leave(all[i])) {
      left.push_back(i);
      continue;
    }
    response.push_back(model.design.response()[i]);
    for (std::size_t j = 0; j < rest.size(); ++j) rest[j].push_back(model.design.values()[j][i]);
  }
  entry["n"] = left.size();
  const LeastSquares fit = least_squares(rest, response);
  if (fit.n() <= fit.kept.size()) {
    entry["reason"] =
        fmt::format("{} observations are left for {} coefficients", fit.n(), fit.kept.size());
    return entry;
  }
  const std::string& function = model.formula.response.function;
  const double scale = function == "log2" ? std::numbers::ln2 : 1;
  double squares = 0, worst = -1;
  for (const std::size_t i : left) {
    std::vector<double> row;
    for (const auto& column : model.design.values()) row.push_back(column[i]);
    const auto value = fit.at(row);
    if (!value) {
      entry["reason"] =
          "what the model says of them depends on a coefficient that only they determine";
      entry["worst"] = entry["worst_ratio"] = nullptr;
      return entry;
    }
    const double error = std::fabs(*value - model.design.response()[i]) * scale;
    squares += error * error;
    if (error > worst) {
      worst = error;
      entry["worst"] = all[i].label;
      if (logarithmic(function)) entry["worst_ratio"] = finite_or_null(std::exp(error));
    }
  }
  entry["rms_error"] = finite_or_null(std::sqrt(squares / static_cast<double>(left.size())));
  return entry;
}

json impossible(const std::string& kind, const std::string& reason) {
  return {{"kind", kind},     {"left_out", nullptr},    {"n", 0},          {"rms_error", nullptr},
          {"worst", nullptr}, {"worst_ratio", nullptr}, {"reason", reason}};
}

std::vector<std::string> levels_of(const Frame& frame, const std::string& column) {
  std::vector<std::string> levels;
  for (const Observation& one : frame.observations()) {
    const Cell& cell = one.at(column);
    if (cell.is_null()) return {};
    if (std::find(levels.begin(), levels.end(), level_name(cell)) == levels.end())
      levels.push_back(level_name(cell));
  }
  return levels;
}

void leave_machines(const FittedModel& model, json& list) {
  const std::string kind = "leave-one-machine-out";
  for (const std::string column : {"system", "architecture", "host"}) {
    const auto machines = levels_of(model.frame, column);
    if (machines.size() < 2) continue;
    for (const std::string& machine : machines)
      list.push_back(left_out(model, kind, column + "=" + machine, [&](const Observation& one) {
        return level_name(one.at(column)) == machine;
      }));
    return;
  }
  list.push_back(impossible(kind, "all observations come from one machine"));
}

void leave_largest(const FittedModel& model, json& list) {
  const std::string kind = "leave-largest-out";
  std::vector<std::string> sizes{"size", "flops", "bytes"};
  const auto used = model.formula.columns();
  std::stable_partition(sizes.begin(), sizes.end(), [&](const std::string& size) {
    return std::find(used.begin(), used.end(), size) != used.end();
  });
  for (const std::string& column : sizes) {
    if (levels_of(model.frame, column).size() < 2 || !model.frame.numeric(column)) continue;
    double largest = -INFINITY;
    for (const Observation& one : model.frame.observations())
      largest = std::max(largest, one.at(column).get<double>());
    list.push_back(
        left_out(model, kind, fmt::format("{}={}", column, largest),
                 [&](const Observation& one) { return one.at(column).get<double>() == largest; }));
    return;
  }
  list.push_back(impossible(kind, "the observations do not have several sizes, flops or bytes"));
}

}  // namespace

std::string between_problems_note(const FittedModel& model, const std::string& clustered_by) {
  if (clustered_by != "launch" && clustered_by != "none") return "";
  const auto& all = model.frame.observations();
  const std::vector<std::size_t> problem = groups_of(model.frame, "problem");
  const std::size_t problems = 1 + *std::max_element(problem.begin(), problem.end());
  std::vector<std::set<std::string>> launches(problems);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].published) launches[problem[i]].insert(all[i].launch);
  if (std::none_of(launches.begin(), launches.end(),
                   [](const auto& one) { return one.size() > 1; }))
    return "";
  // Coefficients whose column is one number in all rows of a problem, the intercept among them.
  std::vector<std::size_t> between;
  for (std::size_t i = 0; i < model.fit.kept.size(); ++i) {
    const std::vector<double>& column = model.design.values()[model.fit.kept[i]];
    std::vector<double> of_problem(problems, NAN);
    bool same = true;
    for (std::size_t j = 0; j < column.size(); ++j) {
      double& known = of_problem[problem[j]];
      same = same && (std::isnan(known) || known == column[j]);
      known = column[j];
    }
    if (same) between.push_back(i);
  }
  // As many as there are problems leave nothing of a problem unexplained: they are about these.
  if (between.size() >= problems) return "";
  const Errors honest = clustered_errors(model.design.values(), model.fit, problem);
  std::vector<std::string> terms;
  for (const std::size_t i : between) {
    const DesignColumn& column = model.design.columns()[model.fit.kept[i]];
    if (column.parts.empty()) continue;  // an intercept is about no term
    const double mine = std::sqrt(model.errors.covariance[i][i]);
    const double other = std::sqrt(honest.covariance[i][i]);
    if (!model.errors.reasons[i].empty() || (honest.reasons[i].empty() && other <= mine)) continue;
    terms.push_back(fmt::format(
        "{} ({:.2g}, by problem {})", column.name, mine,
        honest.reasons[i].empty() ? fmt::format("{:.2g}", other) : "none: " + honest.reasons[i]));
  }
  if (terms.empty()) return "";
  return fmt::format(
      "ERRORS TOO SMALL for {}: {} only between the {} problems, which were launched again and "
      "again, and no launch tells how far another problem would be off. Use --cluster problem",
      join(terms, ", "), terms.size() == 1 ? "it varies" : "they vary", problems);
}

json finite_or_null(double value) { return std::isfinite(value) ? json(value) : json(); }

json validation_of(const FittedModel& model) {
  json list = json::array();
  leave_machines(model, list);
  leave_largest(model, list);
  return list;
}

Cell number_cell(const std::string& flag, const std::string& column, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value))
    throw InputError(
        fmt::format("{}: {}={} is not a number ({} holds numbers). Give one, like {}=2.", flag,
                    column, text, column, column));
  return value;
}

json prediction_of(const FittedModel& model, const std::map<std::string, std::string>& given) {
  std::vector<std::string> needed = model.formula.columns();
  needed.erase(needed.begin());  // the response
  json entry = {{"given", json::object()},       {"value", nullptr},        {"interval", nullptr},
                {"extrapolated", json::array()}, {"unseen", json::array()}, {"reason", nullptr}};
  std::map<std::string, Cell> cells;
  for (const auto& [column, text] : given) {
    if (std::find(needed.begin(), needed.end(), column) == needed.end())
      throw InputError("--predict: " + unknown_name("column of the formula", column, needed));
    cells[column] =
        model.frame.numeric(column) ? number_cell("--predict", column, text) : Cell(text);
    entry["given"][column] = cells[column];
  }
  for (const std::string& column : needed)
    if (!cells.contains(column))
      throw InputError(fmt::format(
          "--predict lacks {0} (the formula needs a value of every column). Add {0}=VALUE.",
          column));
  std::set<std::string> told;
  for (const Variable& one : model.design.variables()) {
    const std::string& column = one.factor.column;
    const Cell& cell = cells.at(column);
    if (one.categorical && one.encode(cell) == Variable::unseen && told.insert(column).second)
      entry["unseen"].push_back(fmt::format("{}={}", column, level_name(cell)));
    if (!one.categorical && told.insert(column).second) {
      const auto value = cell.get<double>();
      if (value < one.low || value > one.high)
        entry["extrapolated"].push_back(
            {{"column", column}, {"value", value}, {"observed", {one.low, one.high}}});
    }
  }
  if (!entry["unseen"].empty()) {
    entry["reason"] = "no observation has a level that is asked for";
    return entry;
  }
  const std::vector<double> row = model.design.row(cells);
  const auto value = model.fit.at(row);
  if (!value) {
    entry["reason"] = "the observations cannot tell: a term that it needs is aliased";
    return entry;
  }
  const std::string& function = model.formula.response.function;
  if (function == "sqrt" && *value < 0) {
    entry["reason"] = "the model's square root is negative there";
    return entry;
  }
  entry["value"] = finite_or_null(undo_function(function, *value));
  if (entry["value"].is_null()) entry["reason"] = "the value is beyond every number";
  for (const std::string& reason : model.errors.reasons)
    if (!reason.empty()) {
      entry["reason"] = reason;
      return entry;
    }
  // The error of the mean and of one new observation about it.
  const std::vector<double> x = model.fit.part(row);
  double variance = model.sigma * model.sigma;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < x.size(); ++j)
      variance += x[i] * model.errors.covariance[i][j] * x[j];
  const double reach = t_quantile(model.errors.df) * std::sqrt(variance);
  double low = *value - reach;
  if (function == "sqrt") low = std::max(low, 0.0);
  const double from = undo_function(function, low), to = undo_function(function, *value + reach);
  if (std::isfinite(from) && std::isfinite(to)) entry["interval"] = {from, to};
  return entry;
}

}  // namespace assay
