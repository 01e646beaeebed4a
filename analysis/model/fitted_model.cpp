#include "analysis/model/fitted_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

/// Scales a column so that its sum of squares is within the range of a double.
void check_range(const std::string& name, const Eigen::VectorXd& values) {
  constexpr double most = 1e100;
  const double largest = values.cwiseAbs().maxCoeff();
  if (largest > most || (largest > 0 && largest < 1 / most))
    throw InputError(fmt::format(
        "{} has values of magnitude {} (the fit would overflow or underflow). Use its logarithm.",
        name, largest));
}

void check_ranges(const Design& design, const Formula& formula) {
  check_range(formula.response.text(), design.response());
  for (Eigen::Index j = 0; j < design.values().cols(); ++j)
    check_range(design.columns()[j].name, design.values().col(j));
}

void check_fittable(const Design& design, const LeastSquares& fit, const Formula& formula) {
  const Eigen::VectorXd& y = design.response();
  if (fit.independent.empty())
    throw InputError(
        "the formula has no term with a coefficient (all their values are zero). Add a term that "
        "varies.");
  if (fit.n() <= fit.independent.size())
    throw InputError(
        fmt::format("{} cannot determine {} and their errors (there must be more observations than "
                    "coefficients). Give more results ({}), or remove terms.",
                    format_count(fit.n(), "observation"),
                    format_count(fit.independent.size(), "coefficient"), more_launches));
  if (y.minCoeff() == y.maxCoeff())
    throw InputError(fmt::format(
        "the response {} is {} in every observation (there is no variation to explain). "
        "Give results that differ.",
        formula.response.text(), y(0)));
}

/// Keeps the observations that have all columns of the formula and of --cluster. Returns these
/// columns.
std::vector<std::string> select_columns(Frame& frame, const Formula& formula,
                                        const std::string& cluster) {
  std::vector<std::string> columns = formula.columns();
  if (!cluster.empty() && cluster != "launch" && cluster != "none") {
    std::vector<std::string> known = frame.columns();
    if (frame.size() > 0 && std::find(known.begin(), known.end(), cluster) == known.end()) {
      known.insert(known.begin(), {"launch", "none"});
      throw InputError("--cluster: " + explain_unknown_name("column", cluster, known));
    }
    columns.push_back(cluster);
  }
  frame.select(columns);
  return columns;
}

/// Reference levels with the names of the frame: 8 for "8.0" if the column has numbers.
std::map<std::string, std::string> level_names(std::map<std::string, std::string> references,
                                               const Frame& frame,
                                               const std::vector<std::string>& columns) {
  for (auto& [column, level] : references)
    if (frame.numeric(column) && std::find(columns.begin(), columns.end(), column) != columns.end())
      level = level_name(parse_number_cell("--reference", column, level));
  return references;
}

}  // namespace

FittedModel fit_model(const Formula& formula, Frame frame, const ModelOptions& options) {
  const std::vector<std::string> columns = select_columns(frame, formula, options.cluster);
  Design design(formula, frame, level_names(options.references, frame, columns));
  check_ranges(design, formula);
  LeastSquares fit = fit_least_squares(design.values(), design.response());
  check_fittable(design, fit, formula);

  std::string by = options.cluster.empty() ? "launch" : options.cluster;
  Indices groups;
  if (by != "none") groups = group_observations(frame, by);
  // If each launch has only one row, launches are not groups.
  if (options.cluster.empty() && std::set(groups.begin(), groups.end()).size() == frame.size())
    by = "none";
  Errors errors =
      by == "none" ? plain_errors(fit) : compute_clustered_errors(design.values(), fit, groups);
  return {formula,        std::move(frame),  std::move(design),
          std::move(fit), std::move(errors), std::move(by)};
}

namespace {

/// The given values as cells, one for each column on the right side of the formula.
std::map<std::string, FrameValue> make_cells(const FittedModel& model,
                                             const std::map<std::string, std::string>& inputs) {
  std::vector<std::string> needed = model.formula.columns();
  needed.erase(needed.begin());  // the response
  std::map<std::string, FrameValue> cells;
  for (const auto& [column, text] : inputs) {
    if (std::find(needed.begin(), needed.end(), column) == needed.end())
      throw InputError("--predict: " +
                       explain_unknown_name("column of the formula", column, needed));
    cells[column] = model.frame.numeric(column) ? parse_number_cell("--predict", column, text)
                                                : FrameValue(text);
  }
  for (const std::string& column : needed)
    if (!cells.contains(column))
      throw InputError(fmt::format(
          "--predict has no value for {0} (the formula needs a value for each of its columns). "
          "Add {0}=VALUE.",
          column));
  return cells;
}

/// Adds the levels without an observation, and the numbers outside of the observed range.
void add_distance_from_data(Prediction& prediction, const Design& design) {
  std::set<std::string> reported;
  for (const Variable& variable : design.variables()) {
    const std::string& column = variable.factor.column;
    const FrameValue& cell = prediction.inputs.at(column);
    const bool unseen =
        variable.categorical && variable.encode(cell, "--predict") == Variable::unseen;
    if ((variable.categorical && !unseen) || !reported.insert(column).second) continue;
    if (unseen)
      prediction.unseen.push_back(fmt::format("{}={}", column, level_name(cell)));
    else if (const double value = cell; value < variable.low || value > variable.high)
      prediction.extrapolated.push_back({column, value, {variable.low, variable.high}});
  }
}

/// The interval for one new observation: from the error of the mean, and that of one observation
/// about it. Nothing if it is not finite.
std::optional<Interval> make_interval(const FittedModel& model, const Eigen::VectorXd& row,
                                      double value) {
  const Eigen::VectorXd x = row(model.fit.independent);
  const double sigma = model.fit.sigma();
  const double variance = sigma * sigma + x.dot(model.errors.covariance * x);
  const double reach = t_quantile(model.errors.df) * std::sqrt(variance);
  const std::string& function = model.formula.response.function;
  const double low = function == "sqrt" ? std::max(value - reach, 0.0) : value - reach;
  const Interval interval{undo_function(function, low), undo_function(function, value + reach)};
  if (!std::isfinite(interval.low) || !std::isfinite(interval.high)) return std::nullopt;
  return interval;
}

}  // namespace

FrameValue parse_number_cell(const std::string& flag, const std::string& column,
                             const std::string& text) {
  const std::optional<double> value = parse_number(text);
  if (!value || !std::isfinite(*value))
    throw InputError(fmt::format(
        "{}: '{}' is not a valid value of {} (the column holds numbers). Give a number, "
        "like {}=2.",
        flag, text, column, column));
  return *value;
}

Prediction make_prediction(const FittedModel& model,
                           const std::map<std::string, std::string>& inputs) {
  Prediction prediction{make_cells(model, inputs)};
  const auto refuse = [&](const std::string& reason) {
    prediction.reason = reason;
    return prediction;
  };
  add_distance_from_data(prediction, model.design);
  if (!prediction.unseen.empty()) return refuse("no observation has a level that is asked for");
  const Eigen::VectorXd row = model.design.row(prediction.inputs, "--predict");
  const auto value = model.fit.at(row);
  if (!value) return refuse("the observations do not determine it: it needs an aliased term");
  const std::string& function = model.formula.response.function;
  if (function == "sqrt" && *value < 0) return refuse("the predicted square root is negative");
  prediction.value = finite(undo_function(function, *value));
  if (!prediction.value) prediction.reason = "the predicted value is too large for a number";
  for (const std::string& reason : model.errors.reasons)
    if (!reason.empty()) return refuse(reason);
  prediction.interval = make_interval(model, row, *value);
  return prediction;
}

}  // namespace assay
