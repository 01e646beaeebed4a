#include "analysis/model/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "analysis/model/fitted_model.hpp"
#include "core/base/json_fields.hpp"

namespace assay {

using nlohmann::json;

namespace {

Response make_response(const Factor& response) {
  static const std::map<std::string, std::string> units{{"time", "s"},
                                                        {"rate.flops_per_s", "FLOP/s"},
                                                        {"rate.algorithmic_flops_per_s", "FLOP/s"},
                                                        {"rate.bytes_per_s", "B/s"},
                                                        {"rate.algbw", "B/s"},
                                                        {"rate.busbw", "B/s"},
                                                        {"rate.images_per_s", "images/s"}};
  const auto unit = units.find(response.column);
  return {response.text(), response.column,
          response.function.empty() ? "identity" : response.function,
          unit == units.end() ? "" : unit->second,
          response.column == "time"              ? "lower"
          : response.column.starts_with("rate.") ? "higher"
                                                 : ""};
}

/// The factor that turns a coefficient into the logarithm of a speedup; 0 if the response has no
/// better direction, or no logarithmic scale.
double log_speedup_factor(const Response& response) {
  if (response.better.empty()) return 0;
  const double sign = response.better == "lower" ? -1 : 1;
  if (response.scale == "log") return sign;
  return response.scale == "log2" ? sign * std::numbers::ln2 : 0;
}

/// The reason why the coefficient of a column is no speedup, or the condition under which it is
/// one.
struct Meaning {
  bool speedup = false;
  std::string note{};
};

Meaning find_meaning(const Design& design, const DesignColumn& column) {
  if (column.parts.empty()) return {};
  if (!column.against_reference) {
    if (column.parts.size() > 1) return {false, "interaction"};
    return {false, column.parts.front().level < 0 ? "per unit of " + column.name
                                                  : "the level itself, without a reference"};
  }
  std::string note;
  for (const Variable* partner : design.partners(column)) {
    if (!partner->categorical)
      return {false, fmt::format("depends on {}: see the interaction", partner->factor.text())};
    note += fmt::format("{}{}={}", note.empty() ? "at " : ", ", partner->factor.column,
                        partner->levels.front());
  }
  return {true, note};
}

Coefficient make_coefficient(const FittedModel& model, std::size_t i, double speedup_factor) {
  const Errors& errors = model.errors;
  const DesignColumn& column = model.design.columns()[model.fit.independent[i]];
  const double estimate = model.fit.estimates(static_cast<Eigen::Index>(i));
  Coefficient coefficient{column.name, estimate};
  if (const double error = errors.standard_error(i); !errors.reasons[i].empty() || !(error > 0)) {
    coefficient.reason = errors.reasons[i].empty() ? "its error is zero" : errors.reasons[i];
  } else {
    const double reach = t_quantile(errors.df) * error;
    coefficient.se = error;
    coefficient.t = estimate / error;
    coefficient.p = t_p_value(estimate / error, errors.df);
    coefficient.interval = {estimate - reach, estimate + reach};
  }
  if (speedup_factor == 0) return coefficient;
  const Meaning meaning = find_meaning(model.design, column);
  coefficient.note = meaning.note;
  if (!meaning.speedup) return coefficient;
  coefficient.speedup = finite(std::exp(speedup_factor * estimate));
  if (!coefficient.interval) return coefficient;
  const double a = std::exp(speedup_factor * coefficient.interval->low);
  const double b = std::exp(speedup_factor * coefficient.interval->high);
  if (std::isfinite(a) && std::isfinite(b))
    coefficient.speedup_interval = {std::min(a, b), std::max(a, b)};
  return coefficient;
}

std::vector<AliasedTerm> list_aliases(const FittedModel& model) {
  const auto& columns = model.design.columns();
  std::vector<AliasedTerm> aliases;
  for (const Variable* variable : model.design.single_levels())
    aliases.push_back({variable->factor.text(),
                       fmt::format("every observation has {}", variable->levels.front())});
  for (const Alias& alias : model.fit.aliased) {
    std::string sum;
    for (const auto& [column, factor] : alias.summands)
      sum +=
          fmt::format("{}{:.6g} {}", sum.empty() ? "equals " : " + ", factor, columns[column].name);
    aliases.push_back(
        {columns[alias.column].name, sum.empty() ? "no observation has this combination" : sum});
  }
  return aliases;
}

std::vector<FittedObservation> list_observations(const FittedModel& model) {
  std::vector<FittedObservation> list;
  const Factor& response = model.formula.response;
  for (const Observation& observation : model.frame.observations()) {
    const auto i = static_cast<Eigen::Index>(list.size());
    list.push_back({observation.label, observation.at(response.column),
                    undo_function(response.function, model.fit.fitted(i)), model.fit.residuals(i),
                    std::min(model.fit.leverage(i), 1.0), observation.published});
  }
  return list;
}

/// The fit, without results, validation, predictions and notes.
ModelDocument make_document(const FittedModel& model) {
  const LeastSquares& fit = model.fit;
  ModelDocument document;
  document.formula = model.formula.text;
  document.response = make_response(model.formula.response);
  document.n = fit.n();
  document.left_out = model.frame.left_out();
  for (const Variable& variable : model.design.variables())
    if (variable.categorical) document.reference[variable.factor.column] = variable.levels.front();
  const double factor = log_speedup_factor(document.response);
  for (std::size_t i = 0; i < fit.independent.size(); ++i)
    document.coefficients.push_back(make_coefficient(model, i, factor));
  document.aliased = list_aliases(model);
  document.df = fit.df();
  if (const auto unexplained = fit.unexplained_part()) {
    document.r2 = 1 - *unexplained;
    document.adjusted_r2 = 1 - *unexplained *
                                   (static_cast<double>(fit.n()) - (fit.constant ? 1 : 0)) /
                                   static_cast<double>(fit.df());
  }
  document.sigma = fit.sigma();
  document.f = model.errors.f;
  if (model.clustered_by != "none")
    document.cluster = {model.clustered_by, model.errors.groups, model.errors.df};
  document.observations = list_observations(model);
  return document;
}

}  // namespace

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

ModelDocument make_model(Results results, const ModelOptions& options) {
  const Formula formula = parse_formula(options.formula);
  Frame frame(results);
  std::vector<FittedResult> sources;
  for (const NamedResult& named : results)
    sources.push_back({named.name, named.system(), named.run().id});
  results.clear();  // a fleet has many rows
  const FittedModel model = fit_model(formula, std::move(frame), options);
  ModelDocument document = make_document(model);
  document.command = options.command;
  document.results = std::move(sources);
  document.validation = validate_model(model);
  for (const auto& inputs : options.predictions)
    document.predictions.push_back(make_prediction(model, inputs));
  add_notes(document, model);
  return document;
}

static void visit_fields(SameAs<Response> auto& response, auto& fields) {
  fields.always("term", response.term, "column", response.column, "scale", response.scale, "unit",
                response.unit);
  fields.nullable("better", response.better);
}

static void visit_fields(SameAs<FittedResult> auto& result, auto& fields) {
  fields.always("name", result.name, "system", result.system, "run", result.run);
}

static void visit_fields(SameAs<Exclusion> auto& left_out, auto& fields) {
  fields.always("rows", left_out.rows, "reason", left_out.reason);
}

static void visit_fields(SameAs<Coefficient> auto& coefficient, auto& fields) {
  fields.always("term", coefficient.term, "estimate", coefficient.estimate);
  fields.nullable("se", coefficient.se, "t", coefficient.t, "p", coefficient.p, "interval",
                  coefficient.interval, "reason", coefficient.reason, "speedup",
                  coefficient.speedup, "speedup_interval", coefficient.speedup_interval, "note",
                  coefficient.note);
}

static void visit_fields(SameAs<AliasedTerm> auto& alias, auto& fields) {
  fields.always("term", alias.term, "because", alias.because);
}

static void visit_fields(SameAs<FTest> auto& test, auto& fields) {
  fields.nullable("value", test.value, "df1", test.df1, "df2", test.df2, "p", test.p, "reason",
                  test.reason);
}

static void visit_fields(SameAs<Clusters> auto& clusters, auto& fields) {
  fields.always("by", clusters.by, "groups", clusters.groups, "df", clusters.df);
}

static void visit_fields(SameAs<Validation> auto& check, auto& fields) {
  fields.always("kind", check.kind, "n", check.n);
  fields.nullable("left_out", check.left_out, "rms_error", check.rms_error, "worst_ratio",
                  check.worst_ratio, "worst", check.worst, "reason", check.reason);
}

static void visit_fields(SameAs<FittedObservation> auto& observation, auto& fields) {
  fields.always("label", observation.label, "observed", observation.observed, "fitted",
                observation.fitted, "residual", observation.residual, "leverage",
                observation.leverage, "published", observation.published);
}

static void visit_fields(SameAs<Extrapolation> auto& extrapolated, auto& fields) {
  fields.always("column", extrapolated.column, "value", extrapolated.value, "observed",
                extrapolated.observed);
}

static void visit_fields(SameAs<Prediction> auto& prediction, auto& fields) {
  fields.always("given", prediction.inputs, "extrapolated", prediction.extrapolated, "unseen",
                prediction.unseen);
  fields.nullable("value", prediction.value, "interval", prediction.interval, "reason",
                  prediction.reason);
}

static void visit_fields(SameAs<ModelDocument> auto& document, auto& fields) {
  fields.nullable("command", document.command, "r2", document.r2, "adjusted_r2",
                  document.adjusted_r2, "cluster", document.cluster);
  fields.always("formula", document.formula, "response", document.response, "results",
                document.results, "n", document.n, "left_out", document.left_out, "reference",
                document.reference, "coefficients", document.coefficients, "aliased",
                document.aliased, "sigma", document.sigma, "df", document.df, "f", document.f,
                "validation", document.validation, "observations", document.observations,
                "predictions", document.predictions, "published", document.published, "citations",
                document.citations, "notes", document.notes);
}

void to_json(json& object, const ModelDocument& document) {
  object = write_fields(document);
  object["schema"] = "assay-model/1";
  object["confidence"] = confidence;
}

}  // namespace assay
