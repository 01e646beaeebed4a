#include "analysis/model/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// The given values as cells, one for each column on the right side of the formula.
std::map<std::string, Cell> cells_of(const FittedModel& model,
                                     const std::map<std::string, std::string>& given) {
  std::vector<std::string> needed = model.formula.columns();
  needed.erase(needed.begin());  // the response
  std::map<std::string, Cell> cells;
  for (const auto& [column, text] : given) {
    if (std::find(needed.begin(), needed.end(), column) == needed.end())
      throw InputError("--predict: " + unknown_name("column of the formula", column, needed));
    cells[column] =
        model.frame.numeric(column) ? number_cell("--predict", column, text) : Cell(text);
  }
  for (const std::string& column : needed)
    if (!cells.contains(column))
      throw InputError(fmt::format(
          "--predict has no value for {0} (the formula needs a value for each of its columns). "
          "Add {0}=VALUE.",
          column));
  return cells;
}

/// Adds the levels that no observation has ("unseen"), and the numbers outside of the observed
/// range ("extrapolated").
void add_distance_from_data(json& entry, const Design& design,
                            const std::map<std::string, Cell>& cells) {
  std::set<std::string> told;
  for (const Variable& variable : design.variables()) {
    const std::string& column = variable.factor.column;
    const Cell& cell = cells.at(column);
    if (variable.categorical) {
      if (variable.encode(cell) == Variable::unseen && told.insert(column).second)
        entry["unseen"].push_back(fmt::format("{}={}", column, level_name(cell)));
    } else if (told.insert(column).second) {
      const auto value = cell.get<double>();
      if (value < variable.low || value > variable.high)
        entry["extrapolated"].push_back(
            {{"column", column}, {"value", value}, {"observed", {variable.low, variable.high}}});
    }
  }
}

/// The interval that holds one new observation: the error of the mean, and of one observation about
/// it. null where it is not finite.
json interval_of(const FittedModel& model, const std::vector<double>& row, double value) {
  const std::vector<double> x = model.fit.independent_part(row);
  double variance = model.quality.sigma * model.quality.sigma;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < x.size(); ++j)
      variance += x[i] * model.errors.covariance[i][j] * x[j];
  const double reach = t_quantile(model.errors.df) * std::sqrt(variance);
  const std::string& function = model.formula.response.function;
  const double low = function == "sqrt" ? std::max(value - reach, 0.0) : value - reach;
  const double from = undo_function(function, low), to = undo_function(function, value + reach);
  return std::isfinite(from) && std::isfinite(to) ? json{from, to} : json();
}

}  // namespace

Cell number_cell(const std::string& flag, const std::string& column, const std::string& text) {
  const std::optional<double> value = parse_number(text);
  if (!value || !std::isfinite(*value))
    throw InputError(fmt::format(
        "{}: '{}' is not a valid value of {} (the column holds numbers). Give a number, "
        "like {}=2.",
        flag, text, column, column));
  return *value;
}

json prediction_of(const FittedModel& model, const std::map<std::string, std::string>& given) {
  const std::map<std::string, Cell> cells = cells_of(model, given);
  json entry = {{"given", cells},          {"value", nullptr},
                {"interval", nullptr},     {"extrapolated", json::array()},
                {"unseen", json::array()}, {"reason", nullptr}};
  add_distance_from_data(entry, model.design, cells);
  if (!entry["unseen"].empty()) {
    entry["reason"] = "no observation has a level that is asked for";
    return entry;
  }
  const std::vector<double> row = model.design.row(cells);
  const auto value = model.fit.at(row);
  if (!value) {
    entry["reason"] = "the observations do not determine it: it needs an aliased term";
    return entry;
  }
  const std::string& function = model.formula.response.function;
  if (function == "sqrt" && *value < 0) {
    entry["reason"] = "the predicted square root is negative";
    return entry;
  }
  entry["value"] = finite_or_null(undo_function(function, *value));
  if (entry["value"].is_null()) entry["reason"] = "the predicted value is too large for a number";
  for (const std::string& reason : model.errors.reasons)
    if (!reason.empty()) {
      entry["reason"] = reason;
      return entry;
    }
  entry["interval"] = interval_of(model, row, *value);
  return entry;
}

}  // namespace assay
