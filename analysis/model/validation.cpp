#include "analysis/model/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

namespace assay {

using nlohmann::json;

namespace {

bool logarithmic(const std::string& function) { return function == "log" || function == "log2"; }

/// Observations that are fitted, and the indices of those that are left out.
struct Split {
  Columns columns;
  std::vector<double> response;
  std::vector<std::size_t> left_out;
};

Split split_off(const FittedModel& model,
                const std::function<bool(const Observation&)>& leave_out) {
  Split split;
  split.columns.resize(model.design.columns().size());
  for (std::size_t i = 0; i < model.frame.size(); ++i) {
    if (leave_out(model.frame.observations()[i])) {
      split.left_out.push_back(i);
      continue;
    }
    split.response.push_back(model.design.response()[i]);
    for (std::size_t j = 0; j < split.columns.size(); ++j)
      split.columns[j].push_back(model.design.values()[j][i]);
  }
  return split;
}

std::vector<double> design_row(const Design& design, std::size_t observation) {
  std::vector<double> row;
  for (const std::vector<double>& column : design.values()) row.push_back(column[observation]);
  return row;
}

json left_out(const FittedModel& model, const std::string& kind, const std::string& what,
              const std::function<bool(const Observation&)>& leave_out) {
  const Split split = split_off(model, leave_out);
  json entry = {{"kind", kind},         {"left_out", what}, {"n", split.left_out.size()},
                {"rms_error", nullptr}, {"worst", nullptr}, {"worst_ratio", nullptr},
                {"reason", nullptr}};
  const LeastSquares fit = least_squares(split.columns, split.response);
  if (fit.n() <= fit.independent.size()) {
    entry["reason"] = fmt::format("only {} observations are left for {} coefficients", fit.n(),
                                  fit.independent.size());
    return entry;
  }
  const std::string& function = model.formula.response.function;
  const double scale = function == "log2" ? std::numbers::ln2 : 1;
  double squares = 0, worst = -1;
  for (const std::size_t i : split.left_out) {
    const auto value = fit.at(design_row(model.design, i));
    if (!value) {
      entry["reason"] = "only they determine a coefficient that their prediction needs";
      entry["worst"] = entry["worst_ratio"] = nullptr;
      return entry;
    }
    const double error = std::fabs(*value - model.design.response()[i]) * scale;
    squares += error * error;
    if (error > worst) {
      worst = error;
      entry["worst"] = model.frame.observations()[i].label;
      if (logarithmic(function)) entry["worst_ratio"] = finite_or_null(std::exp(error));
    }
  }
  entry["rms_error"] =
      finite_or_null(std::sqrt(squares / static_cast<double>(split.left_out.size())));
  return entry;
}

json impossible(const std::string& kind, const std::string& reason) {
  return {{"kind", kind},     {"left_out", nullptr},    {"n", 0},          {"rms_error", nullptr},
          {"worst", nullptr}, {"worst_ratio", nullptr}, {"reason", reason}};
}

std::vector<std::string> levels_of(const Frame& frame, const std::string& column) {
  std::vector<std::string> levels;
  for (const Observation& observation : frame.observations()) {
    const Cell& cell = observation.at(column);
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
      list.push_back(
          left_out(model, kind, column + "=" + machine, [&](const Observation& observation) {
            return level_name(observation.at(column)) == machine;
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
    double largest = -std::numeric_limits<double>::infinity();
    for (const Observation& observation : model.frame.observations())
      largest = std::max(largest, observation.at(column).get<double>());
    list.push_back(left_out(model, kind, fmt::format("{}={}", column, largest),
                            [&](const Observation& observation) {
                              return observation.at(column).get<double>() == largest;
                            }));
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
