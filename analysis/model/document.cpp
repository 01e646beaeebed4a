#include "analysis/model/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "analysis/model/checks.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Below this many groups the literature calls clustered errors too small on average.
constexpr std::size_t few_groups = 20;

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }

json response_of(const Factor& response) {
  static const std::map<std::string, std::string> units{{"time", "s"},
                                                        {"rate.flops_per_s", "FLOP/s"},
                                                        {"rate.algorithmic_flops_per_s", "FLOP/s"},
                                                        {"rate.bytes_per_s", "B/s"},
                                                        {"rate.algbw", "B/s"},
                                                        {"rate.busbw", "B/s"},
                                                        {"rate.images_per_s", "images/s"}};
  const auto unit = units.find(response.column);
  const bool rate = response.column.starts_with("rate.");
  return {{"term", response.text()},
          {"column", response.column},
          {"scale", response.function.empty() ? "identity" : response.function},
          {"unit", unit == units.end() ? "" : unit->second},
          {"better", response.column == "time" ? json("lower")
                     : rate                    ? json("higher")
                                               : json()}};
}

/// Coefficient × this is the logarithm of the speedup; 0 where there is none.
double towards_speedup(const json& response) {
  if (response["better"].is_null()) return 0;
  const double sign = response["better"] == "lower" ? -1 : 1;
  if (response["scale"] == "log") return sign;
  return response["scale"] == "log2" ? sign * std::numbers::ln2 : 0;
}

/// Why a coefficient has no speedup ("" if it has one), or what its speedup stands for.
struct Meaning {
  bool speedup = false;
  std::string note;
};

Meaning meaning_of(const Design& design, const DesignColumn& column, const json& response) {
  if (towards_speedup(response) == 0) return {false, ""};
  if (column.parts.empty()) return {false, ""};
  if (!column.against_reference) {
    if (column.parts.size() > 1) return {false, "interaction"};
    return {false, column.parts.front().level < 0 ? "per unit of " + column.name
                                                  : "the level itself, beside no other"};
  }
  std::vector<std::string> at;
  for (const Variable* partner : design.partners(column)) {
    if (!partner->categorical)
      return {false, fmt::format("depends on {}: see the interaction", partner->factor.text())};
    at.push_back(fmt::format("{}={}", partner->factor.column, partner->levels.front()));
  }
  return {true, at.empty() ? "" : "at " + join(at, ", ")};
}

json coefficient(const Design& design, const LeastSquares& fit, const Errors& errors, std::size_t i,
                 const json& response) {
  const DesignColumn& column = design.columns()[fit.kept[i]];
  const double estimate = fit.estimates[i];
  json entry = {{"term", column.name}, {"estimate", estimate}, {"se", nullptr},
                {"t", nullptr},        {"p", nullptr},         {"interval", nullptr},
                {"reason", nullptr},   {"speedup", nullptr},   {"speedup_interval", nullptr},
                {"note", nullptr}};
  const double error = std::sqrt(errors.covariance[i][i]);
  if (!errors.reasons[i].empty() || !(error > 0)) {
    entry["reason"] = errors.reasons[i].empty() ? "its error is zero" : errors.reasons[i];
  } else {
    const double reach = t_quantile(errors.df) * error;
    entry["se"] = error;
    entry["t"] = estimate / error;
    entry["p"] = t_p_value(estimate / error, errors.df);
    entry["interval"] = {estimate - reach, estimate + reach};
  }
  const Meaning meaning = meaning_of(design, column, response);
  entry["note"] = text_or_null(meaning.note);
  if (!meaning.speedup) return entry;
  const double towards = towards_speedup(response);
  entry["speedup"] = finite_or_null(std::exp(towards * estimate));
  if (entry["interval"].is_array()) {
    const double a = std::exp(towards * entry["interval"][0].get<double>());
    const double b = std::exp(towards * entry["interval"][1].get<double>());
    if (std::isfinite(a) && std::isfinite(b))
      entry["speedup_interval"] = {std::min(a, b), std::max(a, b)};
  }
  return entry;
}

json aliases_of(const Design& design, const LeastSquares& fit) {
  json list = json::array();
  for (const Variable* one : design.single_levels())
    list.push_back({{"term", one->factor.text()},
                    {"because", fmt::format("every observation has {}", one->levels.front())}});
  for (const Alias& alias : fit.aliased) {
    std::string sum;
    for (const auto& [column, factor] : alias.sum_of)
      sum += fmt::format("{}{:.6g} {}", sum.empty() ? "equals " : " + ", factor,
                         design.columns()[column].name);
    list.push_back({{"term", design.columns()[alias.column].name},
                    {"because", sum.empty() ? "no observation has this combination" : sum}});
  }
  return list;
}

/// Sums of squares of all columns stay far inside the range of a double.
void check_range(const std::string& name, const std::vector<double>& values) {
  constexpr double most = 1e100;
  double largest = 0;
  for (const double one : values) largest = std::max(largest, std::fabs(one));
  if (largest > most || (largest > 0 && largest < 1 / most))
    throw InputError(
        fmt::format("{} has numbers of the size {} (the fit would overflow). Use its logarithm.",
                    name, largest));
}

constexpr const char* more_launches =
    "run the suite several times over in turns: `assay run SUITE --launches 5 --out DIR`";

void check_fittable(const Design& design, const LeastSquares& fit, const Formula& formula) {
  const auto& y = design.response();
  if (fit.kept.empty())
    throw InputError(
        "no term can have a coefficient (all their numbers are zero). Add a term that varies.");
  if (fit.n() <= fit.kept.size())
    throw InputError(fmt::format(
        "{} observation{} for {} coefficients (none is left to tell an error from). Name more "
        "results, {}, or leave terms out.",
        fit.n(), fit.n() == 1 ? "" : "s", fit.kept.size(), more_launches));
  const auto [low, high] = std::minmax_element(y.begin(), y.end());
  if (*low == *high)
    throw InputError(
        fmt::format("the response {} is {} in every observation (nothing varies that "
                    "a model could explain). Name results that differ.",
                    formula.response.text(), *low));
}

json observations_of(const Frame& frame, const LeastSquares& fit, const Factor& response) {
  json list = json::array();
  for (std::size_t i = 0; i < fit.n(); ++i) {
    const Observation& one = frame.observations()[i];
    list.push_back({{"label", one.label},
                    {"observed", one.at(response.column)},
                    {"fitted", undo_function(response.function, fit.fitted[i])},
                    {"residual", fit.residuals[i]},
                    {"leverage", std::min(fit.leverage[i], 1.0)},
                    {"published", one.published}});
  }
  return list;
}

}  // namespace

json model_document(const std::vector<NamedResult>& results, const ModelOptions& options) {
  const Formula formula = parse_formula(options.formula);
  Frame frame(results);
  const bool by_column =
      !options.cluster.empty() && options.cluster != "launch" && options.cluster != "none";
  std::vector<std::string> columns = formula.columns();
  if (by_column) {
    auto known = frame.columns();
    if (frame.size() > 0 && std::find(known.begin(), known.end(), options.cluster) == known.end()) {
      known.insert(known.begin(), {"launch", "none"});
      throw InputError("--cluster: " + unknown_name("column", options.cluster, known));
    }
    columns.push_back(options.cluster);
  }
  frame.select(columns);

  std::map<std::string, std::string> references = options.references;
  for (auto& [column, level] : references)
    if (frame.numeric(column) && std::find(columns.begin(), columns.end(), column) != columns.end())
      level = level_name(number_cell("--reference", column, level));
  const Design design(formula, frame, references);
  check_range(formula.response.text(), design.response());
  for (std::size_t j = 0; j < design.columns().size(); ++j)
    check_range(design.columns()[j].name, design.values()[j]);
  const LeastSquares fit = least_squares(design.values(), design.response());
  check_fittable(design, fit, formula);

  std::string by = options.cluster.empty() ? "launch" : options.cluster;
  std::vector<std::size_t> groups;
  if (by != "none") {
    groups = groups_of(frame, by);
    const std::size_t many = 1 + *std::max_element(groups.begin(), groups.end());
    if (options.cluster.empty() && many == frame.size()) by = "none";
  }
  const Errors errors = by == "none" ? plain_errors(fit, design.response())
                                     : clustered_errors(design.values(), fit, groups);
  const Quality good = quality(fit, design.response());

  json document = {{"schema", "assay-model/1"},
                   {"command", text_or_null(options.command)},
                   {"formula", formula.text},
                   {"response", response_of(formula.response)},
                   {"results", json::array()},
                   {"n", fit.n()},
                   {"left_out", json::array()},
                   {"reference", json::object()},
                   {"coefficients", json::array()},
                   {"aliased", aliases_of(design, fit)},
                   {"r2", good.r2 ? json(*good.r2) : json()},
                   {"adjusted_r2", good.adjusted_r2 ? json(*good.adjusted_r2) : json()},
                   {"sigma", good.sigma},
                   {"df", fit.df()},
                   {"cluster", nullptr},
                   {"confidence", confidence},
                   {"observations", observations_of(frame, fit, formula.response)},
                   {"predictions", json::array()},
                   {"citations", json::array()},
                   {"notes", json::array()}};
  for (const NamedResult& one : results)
    document["results"].push_back({{"name", one.name},
                                   {"system", text_of(one.result.at("system"), "name")},
                                   {"run", text_of(one.result.at("run"), "id")}});
  for (const LeftOut& one : frame.left_out())
    document["left_out"].push_back({{"rows", one.rows}, {"reason", one.reason}});
  for (const Variable& one : design.variables())
    if (one.categorical) document["reference"][one.factor.column] = one.levels.front();
  for (std::size_t i = 0; i < fit.kept.size(); ++i)
    document["coefficients"].push_back(coefficient(design, fit, errors, i, document["response"]));
  const bool tested = errors.f.reason.empty();
  document["f"] = {{"value", tested ? json(errors.f.value) : json()},
                   {"df1", tested ? json(errors.f.df1) : json()},
                   {"df2", tested ? json(errors.f.df2) : json()},
                   {"p", tested ? json(errors.f.p) : json()},
                   {"reason", text_or_null(errors.f.reason)}};
  if (by != "none")
    document["cluster"] = {{"by", by}, {"groups", errors.groups}, {"df", errors.df}};

  const FittedModel model{formula, frame, design, fit, errors, good.sigma};
  document["validation"] = validation_of(model);
  for (const auto& given : options.predictions)
    document["predictions"].push_back(prediction_of(model, given));

  std::set<std::string> citations;
  std::size_t published = 0, shared = 0;
  for (const Observation& one : frame.observations()) {
    published += one.published ? 1 : 0;
    shared += one.shared ? 1 : 0;
    if (!one.citation.empty()) citations.insert(one.citation);
  }
  document["published"] = published > 0;
  document["citations"] = citations;
  json& notes = document["notes"];
  if (published > 0)
    notes.push_back(
        fmt::format("{} of {} observations are published numbers: no samples; the "
                    "intervals are of the fit, not of measurement",
                    published, fit.n()));
  if (shared > 0)
    notes.push_back(fmt::format(
        "{} observations were timed while others wanted the processors: upper limits", shared));
  if (by != "none" && errors.groups < few_groups)
    notes.push_back(
        fmt::format("{} groups: clustered errors from fewer than {} tend to be too small",
                    errors.groups, few_groups));
  if (by == "launch" && std::all_of(errors.reasons.begin(), errors.reasons.end(),
                                    [](const std::string& one) { return !one.empty(); }))
    notes.push_back(
        fmt::format("no errors by launch: run more launches, or name another --cluster (problem). "
                    "For launches, {}",
                    more_launches));
  if (const std::string note = between_problems_note(model, by); !note.empty())
    notes.push_back(note);
  if (!fit.constant)
    notes.push_back("the terms do not span a constant: R2 is about zero, not about the mean");
  return document;
}

}  // namespace assay
