#include "analysis/model/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace assay {

using nlohmann::json;

namespace {

bool logarithmic(const std::string& function) { return function == "log" || function == "log2"; }

using Rows = std::vector<std::size_t>;

constexpr const char* only_they = "only they determine a coefficient that their prediction needs";

/// The errors of the predictions of some observations by a fit to all others, or why there are
/// none.
struct Predicted {
  std::vector<double> errors;
  std::string reason;
};

Predicted refitted(const FittedModel& model, const Rows& rows, const std::vector<bool>& left_out) {
  Columns columns(model.design.columns().size());
  std::vector<double> response;
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    if (left_out[i]) continue;
    response.push_back(model.design.response()[i]);
    for (std::size_t j = 0; j < columns.size(); ++j)
      columns[j].push_back(model.design.values()[j][i]);
  }
  const LeastSquares fit = least_squares(columns, response);
  if (fit.n() <= fit.independent.size())
    return {{},
            fmt::format("only {} observations are left for {} coefficients", fit.n(),
                        fit.independent.size())};
  Predicted made;
  for (const std::size_t i : rows) {
    std::vector<double> row;
    for (const std::vector<double>& column : model.design.values()) row.push_back(column[i]);
    const auto value = fit.at(row);
    if (!value) return {{}, only_they};
    made.errors.push_back(model.design.response()[i] - *value);
  }
  return made;
}

/// Whether a column is zero in all other observations, as that of a level of the left-out machine.
bool have_own_column(const FittedModel& model, const Rows& rows,
                     const std::vector<bool>& left_out) {
  const auto none_of_others = [&](const std::vector<double>& column) {
    for (std::size_t i = 0; i < column.size(); ++i)
      if (column[i] != 0 && !left_out[i]) return false;
    return true;
  };
  return std::any_of(
      model.design.values().begin(), model.design.values().end(), [&](const auto& column) {
        return std::any_of(rows.begin(), rows.end(), [&](auto i) { return column[i] != 0; }) &&
               none_of_others(column);
      });
}

/// A fit for each machine of a fleet would take minutes, so only those are fitted that the fit of
/// all observations does not tell.
Predicted predicted(const FittedModel& model, const Rows& rows) {
  std::vector<bool> left_out(model.frame.size(), false);
  for (const std::size_t i : rows) left_out[i] = true;
  if (model.frame.size() - rows.size() > model.fit.independent.size()) {
    if (have_own_column(model, rows, left_out)) return {{}, only_they};
    if (auto errors = model.fit.residuals_without(rows)) return {std::move(*errors), ""};
  }
  return refitted(model, rows, left_out);
}

json left_out(const FittedModel& model, const std::string& kind, const std::string& what,
              const Rows& rows) {
  json entry = {{"kind", kind},         {"left_out", what}, {"n", rows.size()},
                {"rms_error", nullptr}, {"worst", nullptr}, {"worst_ratio", nullptr},
                {"reason", nullptr}};
  const auto [errors, reason] = predicted(model, rows);
  if (!reason.empty()) {
    entry["reason"] = reason;
    return entry;
  }
  const std::string& function = model.formula.response.function;
  const double scale = function == "log2" ? std::numbers::ln2 : 1;
  double squares = 0, worst = -1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double error = std::fabs(errors[i]) * scale;
    squares += error * error;
    if (error > worst) {
      worst = error;
      entry["worst"] = model.frame.observations()[rows[i]].label;
      if (logarithmic(function)) entry["worst_ratio"] = finite_or_null(std::exp(error));
    }
  }
  entry["rms_error"] = finite_or_null(std::sqrt(squares / static_cast<double>(rows.size())));
  return entry;
}

json impossible(const std::string& kind, const std::string& reason) {
  return {{"kind", kind},     {"left_out", nullptr},    {"n", 0},          {"rms_error", nullptr},
          {"worst", nullptr}, {"worst_ratio", nullptr}, {"reason", reason}};
}

/// The observations of each level of a column; empty where an observation has none.
std::vector<Rows> levels_of(const Frame& frame, const std::string& column) {
  std::vector<Rows> levels;
  const std::vector<std::size_t> group = groups_of(frame, column);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (frame.observations()[i].at(column).is_null()) return {};
    if (group[i] == levels.size()) levels.emplace_back();
    levels[group[i]].push_back(i);
  }
  return levels;
}

void leave_machines(const FittedModel& model, json& list) {
  const std::string kind = "leave-one-machine-out";
  for (const std::string column : {"system", "architecture", "host"}) {
    const std::vector<Rows> machines = levels_of(model.frame, column);
    if (machines.size() < 2) continue;
    for (const Rows& rows : machines) {
      const Cell& name = model.frame.observations()[rows.front()].at(column);
      list.push_back(left_out(model, kind, column + "=" + level_name(name), rows));
    }
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
    const std::vector<Rows> levels = levels_of(model.frame, column);
    if (levels.size() < 2 || !model.frame.numeric(column)) continue;
    const auto value = [&](const Rows& rows) {
      return model.frame.observations()[rows.front()].at(column).get<double>();
    };
    const Rows& largest =
        *std::max_element(levels.begin(), levels.end(),
                          [&](const Rows& a, const Rows& b) { return value(a) < value(b); });
    list.push_back(left_out(model, kind, fmt::format("{}={}", column, value(largest)), largest));
    return;
  }
  list.push_back(impossible(kind, "the observations do not have several sizes, flops or bytes"));
}

}  // namespace

json validation_of(const FittedModel& model) {
  json list = json::array();
  leave_machines(model, list);
  leave_largest(model, list);
  return list;
}

}  // namespace assay
