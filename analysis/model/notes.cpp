#include "analysis/model/notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "analysis/text_table.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// With fewer groups the literature finds clustered errors too small on average.
constexpr std::size_t few_groups = 20;

/// Whether several launches repeat the measured observations of any problem.
bool problems_repeat(const Frame& frame, const std::vector<std::size_t>& problem,
                     std::size_t problems) {
  std::vector<std::set<std::string>> launches(problems);
  for (std::size_t i = 0; i < frame.size(); ++i)
    if (const Observation& observation = frame.observations()[i]; !observation.published)
      launches[problem[i]].insert(observation.launch);
  return std::any_of(launches.begin(), launches.end(),
                     [](const std::set<std::string>& labels) { return labels.size() > 1; });
}

/// Coefficients whose column has a single value in all observations of a problem, the intercept
/// among them.
std::vector<std::size_t> constant_within_problems(const FittedModel& model,
                                                  const std::vector<std::size_t>& problem,
                                                  std::size_t problems) {
  std::vector<std::size_t> constant;
  for (std::size_t i = 0; i < model.fit.independent.size(); ++i) {
    const std::vector<double>& column = model.design.values()[model.fit.independent[i]];
    std::vector<double> of_problem(problems, NAN);
    bool same = true;
    for (std::size_t j = 0; j < column.size(); ++j) {
      double& known = of_problem[problem[j]];
      same = same && (std::isnan(known) || known == column[j]);
      known = column[j];
    }
    if (same) constant.push_back(i);
  }
  return constant;
}

/// A warning where terms that vary only between problems have too small an error, else "". Launches
/// of the same problems repeat the model's error for each problem. Errors by launch (or by row)
/// then say how well these problems are known, not how well the term is.
std::string between_problems_note(const FittedModel& model, const std::string& clustered_by) {
  if (clustered_by != "launch" && clustered_by != "none") return "";
  const std::vector<std::size_t> problem = groups_of(model.frame, "problem");
  const std::size_t problems = 1 + *std::max_element(problem.begin(), problem.end());
  if (!problems_repeat(model.frame, problem, problems)) return "";
  const std::vector<std::size_t> constant = constant_within_problems(model, problem, problems);
  // As many coefficients as problems fit each problem exactly: they describe these problems alone.
  if (constant.size() >= problems) return "";
  const Errors by_problem = clustered_errors(model.design.values(), model.fit, problem);
  std::vector<std::string> terms;
  for (const std::size_t i : constant) {
    const DesignColumn& column = model.design.columns()[model.fit.independent[i]];
    if (column.parts.empty()) continue;  // the intercept is not a term
    const double shown = std::sqrt(model.errors.covariance[i][i]);
    const double wider = std::sqrt(by_problem.covariance[i][i]);
    const std::string& reason = by_problem.reasons[i];
    if (!model.errors.reasons[i].empty() || (reason.empty() && wider <= shown)) continue;
    terms.push_back(fmt::format("{} (SE {:.2g}, by problem {})", column.name, shown,
                                reason.empty() ? fmt::format("{:.2g}", wider) : "none: " + reason));
  }
  if (terms.empty()) return "";
  return fmt::format(
      "ERRORS TOO SMALL for {}: {} only between the {} problems, and repeated launches of the same "
      "problems do not show how far another problem would be off (use --cluster problem)",
      join(terms, ", "), terms.size() == 1 ? "it varies" : "they vary", problems);
}

}  // namespace

void add_notes(json& document, const FittedModel& model, const std::string& clustered_by) {
  std::set<std::string> citations;
  std::size_t published = 0, shared = 0, throttled = 0;
  for (const Observation& observation : model.frame.observations()) {
    published += observation.published ? 1 : 0;
    shared += observation.shared ? 1 : 0;
    throttled += observation.throttled ? 1 : 0;
    if (!observation.citation.empty()) citations.insert(observation.citation);
  }
  document["published"] = published > 0;
  document["citations"] = citations;
  json& notes = document["notes"] = json::array();
  if (published > 0)
    notes.push_back(
        fmt::format("{} of {} observations are published numbers without samples: the intervals "
                    "are those of the fit, not of the measurements",
                    published, model.fit.n()));
  if (shared > 0)
    notes.push_back(fmt::format(
        "{} observations were timed while other work used the processors: they are upper limits",
        shared));
  if (throttled > 0)
    notes.push_back(fmt::format(
        "{} observations were timed while power or heat throttled the device: they are what it "
        "needs with this power and cooling",
        throttled));
  if (clustered_by != "none" && model.errors.groups < few_groups)
    notes.push_back(
        fmt::format("{}: clustered errors from fewer than {} groups tend to be too small",
                    counted(model.errors.groups, "group"), few_groups));
  if (clustered_by == "launch" &&
      std::all_of(model.errors.reasons.begin(), model.errors.reasons.end(),
                  [](const std::string& reason) { return !reason.empty(); }))
    notes.push_back(fmt::format(
        "no errors by launch: use another --cluster (problem), or get more launches: {}",
        more_launches));
  if (const std::string note = between_problems_note(model, clustered_by); !note.empty())
    notes.push_back(note);
  if (!model.fit.constant)
    notes.push_back("the terms do not span a constant: R2 is about zero, not about the mean");
}

}  // namespace assay
