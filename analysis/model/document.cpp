#include "analysis/model/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "analysis/model/notes.hpp"
#include "analysis/model/prediction.hpp"
#include "analysis/model/validation.hpp"
#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

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

/// The factor by which a coefficient becomes the logarithm of a speedup; 0 where the response has
/// no better direction, or no logarithmic scale.
double log_speedup_factor(const json& response) {
  if (response["better"].is_null()) return 0;
  const double sign = response["better"] == "lower" ? -1 : 1;
  if (response["scale"] == "log") return sign;
  return response["scale"] == "log2" ? sign * std::numbers::ln2 : 0;
}

struct Meaning {
  bool speedup = false;  ///< whether the coefficient can be read as a speedup
  std::string note;      ///< under which condition, or what the coefficient is instead
};

Meaning meaning_of(const Design& design, const DesignColumn& column, const json& response) {
  if (log_speedup_factor(response) == 0) return {false, ""};
  if (column.parts.empty()) return {false, ""};
  if (!column.against_reference) {
    if (column.parts.size() > 1) return {false, "interaction"};
    return {false, column.parts.front().level < 0 ? "per unit of " + column.name
                                                  : "the level itself, without a reference"};
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
  const DesignColumn& column = design.columns()[fit.independent[i]];
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
  const double factor = log_speedup_factor(response);
  entry["speedup"] = finite_or_null(std::exp(factor * estimate));
  if (entry["interval"].is_array()) {
    const double a = std::exp(factor * entry["interval"][0].get<double>());
    const double b = std::exp(factor * entry["interval"][1].get<double>());
    if (std::isfinite(a) && std::isfinite(b))
      entry["speedup_interval"] = {std::min(a, b), std::max(a, b)};
  }
  return entry;
}

json aliases_of(const Design& design, const LeastSquares& fit) {
  json list = json::array();
  for (const Variable* variable : design.single_levels())
    list.push_back(
        {{"term", variable->factor.text()},
         {"because", fmt::format("every observation has {}", variable->levels.front())}});
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

/// Keeps the sums of squares of all columns inside the range of a double.
void check_range(const std::string& name, const std::vector<double>& values) {
  constexpr double most = 1e100;
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::fabs(value));
  if (largest > most || (largest > 0 && largest < 1 / most))
    throw InputError(fmt::format(
        "{} has values of magnitude {} (the fit would overflow or underflow). Use its logarithm.",
        name, largest));
}

void check_fittable(const Design& design, const LeastSquares& fit, const Formula& formula) {
  const auto& y = design.response();
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
  const auto [low, high] = std::minmax_element(y.begin(), y.end());
  if (*low == *high)
    throw InputError(fmt::format(
        "the response {} is {} in every observation (there is no variation to explain). "
        "Give results that differ.",
        formula.response.text(), *low));
}

json observations_of(const Frame& frame, const LeastSquares& fit, const Factor& response) {
  json list = json::array();
  for (std::size_t i = 0; i < fit.n(); ++i) {
    const Observation& observation = frame.observations()[i];
    list.push_back({{"label", observation.label},
                    {"observed", observation.at(response.column)},
                    {"fitted", undo_function(response.function, fit.fitted[i])},
                    {"residual", fit.residuals[i]},
                    {"leverage", std::min(fit.leverage[i], 1.0)},
                    {"published", observation.published}});
  }
  return list;
}

/// How the errors are clustered, resolved from --cluster.
struct Clustering {
  std::string by;                   ///< launch, a column, or none
  std::vector<std::size_t> groups;  ///< of each observation; empty for none
};

bool is_column(const std::string& cluster) {
  return !cluster.empty() && cluster != "launch" && cluster != "none";
}

/// Keeps the observations that have all columns of the formula and of --cluster. Returns these
/// columns.
std::vector<std::string> select_columns(Frame& frame, const Formula& formula,
                                        const std::string& cluster) {
  std::vector<std::string> columns = formula.columns();
  if (is_column(cluster)) {
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

/// By launch where a launch gave several observations, unless `cluster` says otherwise.
Clustering clustering_of(const Frame& frame, const std::string& cluster) {
  Clustering made{cluster.empty() ? "launch" : cluster, {}};
  if (made.by == "none") return made;
  made.groups = groups_of(frame, made.by);
  const std::size_t count = 1 + *std::max_element(made.groups.begin(), made.groups.end());
  if (cluster.empty() && count == frame.size()) made = {"none", {}};
  return made;
}

json f_test_of(const FTest& f) {
  if (!f.reason.empty())
    return {{"value", nullptr},
            {"df1", nullptr},
            {"df2", nullptr},
            {"p", nullptr},
            {"reason", f.reason}};
  return {{"value", f.value}, {"df1", f.df1}, {"df2", f.df2}, {"p", f.p}, {"reason", nullptr}};
}

json results_of(const std::vector<NamedResult>& results) {
  json list = json::array();
  for (const NamedResult& named : results)
    list.push_back({{"name", named.name},
                    {"system", text_of(named.result.at("system"), "name")},
                    {"run", text_of(named.result.at("run"), "id")}});
  return list;
}

json left_out_of(const Frame& frame) {
  json list = json::array();
  for (const LeftOut& left_out : frame.left_out())
    list.push_back({{"rows", left_out.rows}, {"reason", left_out.reason}});
  return list;
}

json references_of(const Design& design) {
  json levels = json::object();
  for (const Variable& variable : design.variables())
    if (variable.categorical) levels[variable.factor.column] = variable.levels.front();
  return levels;
}

/// The fit in the fields of model.schema.json, without validation, predictions and notes.
json fit_document(const FittedModel& model, const std::string& clustered_by) {
  const Quality& quality = model.quality;
  json document = {
      {"schema", "assay-model/1"},
      {"formula", model.formula.text},
      {"response", response_of(model.formula.response)},
      {"n", model.fit.n()},
      {"left_out", left_out_of(model.frame)},
      {"reference", references_of(model.design)},
      {"coefficients", json::array()},
      {"aliased", aliases_of(model.design, model.fit)},
      {"r2", quality.r2 ? json(*quality.r2) : json()},
      {"adjusted_r2", quality.adjusted_r2 ? json(*quality.adjusted_r2) : json()},
      {"sigma", quality.sigma},
      {"df", model.fit.df()},
      {"f", f_test_of(model.errors.f)},
      {"cluster", nullptr},
      {"confidence", confidence},
      {"observations", observations_of(model.frame, model.fit, model.formula.response)}};
  for (std::size_t i = 0; i < model.fit.independent.size(); ++i)
    document["coefficients"].push_back(
        coefficient(model.design, model.fit, model.errors, i, document["response"]));
  if (clustered_by != "none")
    document["cluster"] = {
        {"by", clustered_by}, {"groups", model.errors.groups}, {"df", model.errors.df}};
  return document;
}

}  // namespace

json model_document(std::vector<NamedResult> results, const ModelOptions& options) {
  const Formula formula = parse_formula(options.formula);
  Frame frame(results);
  for (NamedResult& named : results) named.result.erase("rows");
  const std::vector<std::string> columns = select_columns(frame, formula, options.cluster);
  const Design design(formula, frame, level_names(options.references, frame, columns));
  check_range(formula.response.text(), design.response());
  for (std::size_t j = 0; j < design.columns().size(); ++j)
    check_range(design.columns()[j].name, design.values()[j]);
  const LeastSquares fit = least_squares(design.values(), design.response());
  check_fittable(design, fit, formula);

  const Clustering clustering = clustering_of(frame, options.cluster);
  const Errors errors = clustering.by == "none"
                            ? plain_errors(fit, design.response())
                            : clustered_errors(design.values(), fit, clustering.groups);
  const FittedModel model{formula, frame, design, fit, errors, quality_of(fit, design.response())};

  json document = fit_document(model, clustering.by);
  document["command"] = text_or_null(options.command);
  document["results"] = results_of(results);
  document["validation"] = validation_of(model);
  document["predictions"] = json::array();
  for (const auto& given : options.predictions)
    document["predictions"].push_back(prediction_of(model, given));
  add_notes(document, model, clustering.by);
  return document;
}

}  // namespace assay
