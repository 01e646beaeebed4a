#pragma once
// The document of `assay model` (results-schema/model.schema.json): a log-linear model fitted to
// results. Times are in seconds, rates in the units of their names. Unknown texts are empty; if an
// optional number has no value, a reason beside it says why.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/series.hpp"
#include "core/base/statistics.hpp"

namespace assay {

struct ModelOptions {
  std::string formula;
  std::map<std::string, std::string> references;  ///< column → level
  /// Errors are clustered by "launch", "none", or the column of this name. "" means by launch if a
  /// launch has several rows, else none.
  std::string cluster;
  std::vector<std::map<std::string, std::string>> predictions;  ///< column → value
  std::string command;
};

/// The quantity that the formula explains.
struct Response {
  std::string term, column;  ///< log(time), time
  std::string scale;         ///< log, log2, sqrt or identity
  std::string unit;          ///< function of the column; "" if it has none
  std::string better;        ///< "lower", "higher", or "" if the quantity is not a speed
};

struct FittedResult {
  std::string name, system, run;
};

struct Exclusion {
  std::size_t rows = 0;
  std::string reason;
};

struct Coefficient {
  std::string term;
  double estimate = 0;
  std::optional<double> se{}, t{}, p{};
  std::optional<Interval> interval{};  ///< at the level `confidence`
  std::string reason{};                ///< the reason if `se` is missing
  /// This level over the reference level, all else being equal; only for a logarithmic response.
  std::optional<double> speedup{};
  std::optional<Interval> speedup_interval{};
  std::string
      note{};  ///< the reason if `speedup` is missing, or the condition under which it holds
};

struct AliasedTerm {
  std::string term, because;
};

/// F test of the hypothesis that all coefficients but the constant are zero.
struct FTest {
  std::optional<double> value{}, p{};
  std::optional<std::size_t> df1{}, df2{};
  std::string reason{};  ///< the reason if `value` is missing
};

/// The groups within which errors may be correlated.
struct Clusters {
  std::string by;  ///< "launch", or a column
  std::size_t groups = 0, df = 0;
};

/// A prediction of observations that were left out of the fit.
struct Validation {
  std::string kind;
  std::string left_out{};             ///< system=summit; "" if nothing can be left out
  std::size_t n = 0;                  ///< number of observations left out
  std::optional<double> rms_error{};  ///< in natural logarithms for log and log2
  std::optional<double> worst_ratio{};
  std::string worst{};   ///< the observation with the largest error
  std::string reason{};  ///< the reason if the errors are missing
};

struct FittedObservation {
  std::string label;
  double observed = 0, fitted = 0;  ///< in the unit of the response
  double residual = 0;              ///< on the scale of the fit
  double leverage = 0;
  bool published = false;
};

/// A value of a prediction outside of the observed range.
struct Extrapolation {
  std::string column;
  double value = 0;
  Interval observed;
};

struct Prediction {
  std::map<std::string, nlohmann::json> inputs;  ///< column → number or text
  std::optional<double> value{};                 ///< in the unit of the response
  std::optional<Interval> interval{};            ///< of one new observation
  std::vector<Extrapolation> extrapolated{};
  std::vector<std::string> unseen{};  ///< column=level for levels without an observation
  std::string reason{};               ///< why there is no value or no interval
};

/// Level of the two-sided confidence intervals.
inline constexpr double confidence = 0.95;

struct ModelDocument {
  std::string command, formula;
  Response response;
  std::vector<FittedResult> results;
  std::size_t n = 0;  ///< number of observations
  std::vector<Exclusion> left_out;
  std::map<std::string, std::string> reference;  ///< column → level
  std::vector<Coefficient> coefficients;
  std::vector<AliasedTerm> aliased;
  std::optional<double> r2, adjusted_r2;  ///< about the mean if the columns span the constant
  double sigma = 0;                       ///< standard deviation of the residuals
  std::size_t df = 0;
  FTest f;
  std::optional<Clusters> cluster;  ///< nothing: observations are independent
  std::vector<Validation> validation;
  std::vector<FittedObservation> observations;
  std::vector<Prediction> predictions;
  bool published = false;
  std::vector<std::string> citations, notes;
};

void to_json(nlohmann::json& json, const ModelDocument& document);

/// InputError with the reason if the formula cannot be fitted to these results; NothingToModel
/// (frame.hpp) if no row can be used.
ModelDocument make_model(Results results, const ModelOptions& options);

/// The document as tables, for people.
std::string render_model(const ModelDocument& document, bool markdown);
/// The coefficients as CSV (RFC 4180), with all digits.
std::string render_model_csv(const ModelDocument& document);

}  // namespace assay
