#include "analysis/model/fitted_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

/// Keeps the sums of squares of a column inside the range of a double.
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
                    counted(fit.n(), "observation"), counted(fit.independent.size(), "coefficient"),
                    more_launches));
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
      throw InputError("--cluster: " + unknown_name("column", cluster, known));
    }
    columns.push_back(cluster);
  }
  frame.select(columns);
  return columns;
}

/// Reference levels as the frame names them: 8 for "8.0" of a column of numbers.
std::map<std::string, std::string> level_names(std::map<std::string, std::string> references,
                                               const Frame& frame,
                                               const std::vector<std::string>& columns) {
  for (auto& [column, level] : references)
    if (frame.numeric(column) && std::find(columns.begin(), columns.end(), column) != columns.end())
      level = level_name(number_cell("--reference", column, level));
  return references;
}

}  // namespace

FittedModel fit_model(const Formula& formula, Frame frame, const ModelOptions& options) {
  const std::vector<std::string> columns = select_columns(frame, formula, options.cluster);
  Design design(formula, frame, level_names(options.references, frame, columns));
  check_ranges(design, formula);
  LeastSquares fit = least_squares(design.values(), design.response());
  check_fittable(design, fit, formula);

  std::string by = options.cluster.empty() ? "launch" : options.cluster;
  Indices groups;
  if (by != "none") groups = group_observations(frame, by);
  // Launches with a row each are no groups.
  if (options.cluster.empty() && std::set(groups.begin(), groups.end()).size() == frame.size())
    by = "none";
  Errors errors = by == "none" ? plain_errors(fit) : clustered_errors(design.values(), fit, groups);
  return {formula,        std::move(frame),  std::move(design),
          std::move(fit), std::move(errors), std::move(by)};
}

}  // namespace assay
