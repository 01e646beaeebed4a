#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "analysis/model/fitted_model.hpp"
#include "analysis/text_table.hpp"

namespace assay {

namespace {

constexpr const char* only_they = "only they determine a coefficient that their prediction needs";

/// The errors with which a fit to all other observations predicts some observations, or why there
/// are none.
struct LeftOutErrors {
  Eigen::VectorXd errors{};
  std::string reason{};
};

LeftOutErrors refit(const FittedModel& model, const Indices& rows,
                    const std::vector<bool>& left_out) {
  const Eigen::MatrixXd& x = model.design.values();
  const Eigen::VectorXd& y = model.design.response();
  Indices others;
  for (Eigen::Index i = 0; i < y.size(); ++i)
    if (!left_out[i]) others.push_back(i);
  const LeastSquares fit = fit_least_squares(x(others, Eigen::all), y(others));
  if (fit.n() <= fit.independent.size())
    return {{},
            fmt::format("only {} left for {}", format_count(fit.n(), "observation"),
                        format_count(fit.independent.size(), "coefficient"))};
  LeftOutErrors refitted{y(rows)};
  for (Eigen::Index i = 0; i < refitted.errors.size(); ++i) {
    const auto value = fit.at(x.row(rows[i]));
    if (!value) return {{}, only_they};
    refitted.errors(i) -= *value;
  }
  return refitted;
}

/// True if a column is zero in all other observations, for example that of a level of the left-out
/// machine.
bool have_own_column(const FittedModel& model, const Indices& rows,
                     const std::vector<bool>& left_out) {
  for (const auto column : model.design.values().colwise()) {
    bool own = std::any_of(rows.begin(), rows.end(), [&](auto i) { return column(i) != 0; });
    for (Eigen::Index i = 0; own && i < column.size(); ++i) own = column(i) == 0 || left_out[i];
    if (own) return true;
  }
  return false;
}

/// Fitting once for each machine of a fleet would take minutes. So a fit is made only if the fit of
/// all observations does not give the errors.
LeftOutErrors leave_out(const FittedModel& model, const Indices& rows) {
  std::vector<bool> left_out(model.frame.size(), false);
  for (const Eigen::Index i : rows) left_out[i] = true;
  if (model.frame.size() - rows.size() > model.fit.independent.size()) {
    if (have_own_column(model, rows, left_out)) return {{}, only_they};
    if (auto errors = model.fit.compute_residuals_without(rows)) return {std::move(*errors), ""};
  }
  return refit(model, rows, left_out);
}

Validation validate(const FittedModel& model, const char* kind, const std::string& left_out,
                    const Indices& rows) {
  Validation check{kind, left_out, rows.size()};
  auto [errors, reason] = leave_out(model, rows);
  check.reason = reason;
  if (!reason.empty()) return check;
  const std::string& function = model.formula.response.function;
  if (function == "log2") errors *= std::numbers::ln2;
  Eigen::Index worst = 0;
  const double largest = errors.cwiseAbs().maxCoeff(&worst);
  check.worst = model.frame.observations()[rows[worst]].label;
  if (function == "log" || function == "log2") check.worst_ratio = finite(std::exp(largest));
  check.rms_error = finite(errors.norm() / std::sqrt(static_cast<double>(rows.size())));
  return check;
}

/// The observations of each level of a column; empty if an observation has no level.
std::vector<Indices> group_levels(const Frame& frame, const std::string& column) {
  std::vector<Indices> levels;
  const Indices groups = group_observations(frame, column);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (frame.observations()[i].at(column).is_null()) return {};
    if (groups[i] == std::ssize(levels)) levels.emplace_back();
    levels[groups[i]].push_back(static_cast<Eigen::Index>(i));
  }
  return levels;
}

const FrameValue& find_level(const FittedModel& model, const Indices& rows,
                             const std::string& column) {
  return model.frame.observations()[rows.front()].at(column);
}

void leave_machines_out(const FittedModel& model, std::vector<Validation>& checks) {
  constexpr const char* kind = "leave-one-machine-out";
  for (const std::string column : {"system", "architecture", "host"}) {
    const std::vector<Indices> machines = group_levels(model.frame, column);
    if (machines.size() < 2) continue;
    for (const Indices& rows : machines)
      checks.push_back(
          validate(model, kind, column + "=" + level_name(find_level(model, rows, column)), rows));
    return;
  }
  checks.push_back({kind, "", 0, {}, {}, "", "all observations come from one machine"});
}

void leave_largest_out(const FittedModel& model, std::vector<Validation>& checks) {
  constexpr const char* kind = "leave-largest-out";
  std::vector<std::string> sizes{"size", "flops", "bytes"};
  const auto used = model.formula.columns();
  std::stable_partition(sizes.begin(), sizes.end(), [&](const std::string& size) {
    return std::find(used.begin(), used.end(), size) != used.end();
  });
  for (const std::string& column : sizes) {
    const std::vector<Indices> levels = group_levels(model.frame, column);
    if (levels.size() < 2 || !model.frame.numeric(column)) continue;
    const auto size = [&](const Indices& rows) {
      return find_level(model, rows, column).get<double>();
    };
    const Indices& largest =
        *std::max_element(levels.begin(), levels.end(),
                          [&](const Indices& a, const Indices& b) { return size(a) < size(b); });
    checks.push_back(validate(model, kind, fmt::format("{}={}", column, size(largest)), largest));
    return;
  }
  checks.push_back(
      {kind, "", 0, {}, {}, "", "the observations do not have several sizes, flops or bytes"});
}

}  // namespace

std::vector<Validation> validate_model(const FittedModel& model) {
  std::vector<Validation> checks;
  leave_machines_out(model, checks);
  leave_largest_out(model, checks);
  return checks;
}

}  // namespace assay
