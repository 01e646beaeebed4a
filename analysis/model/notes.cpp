#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/model/fitted_model.hpp"
#include "analysis/text_table.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

/// With fewer groups, clustered errors are too small on average, according to the literature.
constexpr std::size_t few_groups = 20;

/// True if several launches repeat the measured observations of any problem.
bool problems_repeat(const Frame& frame, const Indices& problem) {
  std::map<Eigen::Index, std::set<std::string>> launches;
  for (std::size_t i = 0; i < frame.size(); ++i)
    if (const Observation& observation = frame.observations()[i]; !observation.published)
      launches[problem[i]].insert(observation.launch);
  return std::any_of(launches.begin(), launches.end(),
                     [](const auto& group) { return group.second.size() > 1; });
}

/// Coefficients whose column is constant within each problem, including the intercept.
std::vector<std::size_t> find_constant_within_problems(const FittedModel& model,
                                                       const Indices& problem) {
  std::vector<std::size_t> constant;
  for (std::size_t i = 0; i < model.fit.independent.size(); ++i) {
    const auto column = model.design.values().col(model.fit.independent[i]);
    std::map<Eigen::Index, double> values;
    bool same = true;
    for (Eigen::Index j = 0; same && j < column.size(); ++j)
      same = values.emplace(problem[j], column(j)).first->second == column(j);
    if (same) constant.push_back(i);
  }
  return constant;
}

/// A warning if the errors of terms that vary only between problems are too small, else "".
/// Launches of the same problem repeat the fit's error for this problem. So errors by launch (or by
/// row) tell how well these problems are known, not how well the term is.
std::string between_problems_note(const FittedModel& model) {
  if (model.clustered_by != "launch" && model.clustered_by != "none") return "";
  const Indices problem = group_observations(model.frame, "problem");
  const auto problems =
      static_cast<std::size_t>(1 + *std::max_element(problem.begin(), problem.end()));
  if (!problems_repeat(model.frame, problem)) return "";
  const std::vector<std::size_t> constant = find_constant_within_problems(model, problem);
  // With as many coefficients as problems, each problem is fitted exactly, so they describe only
  // these problems.
  if (constant.size() >= problems) return "";
  const Errors by_problem = compute_clustered_errors(model.design.values(), model.fit, problem);
  std::vector<std::string> terms;
  for (const std::size_t i : constant) {
    const DesignColumn& column = model.design.columns()[model.fit.independent[i]];
    if (column.parts.empty()) continue;  // the intercept is not a term
    const double shown = model.errors.standard_error(i), wider = by_problem.standard_error(i);
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

void add_notes(ModelDocument& document, const FittedModel& model) {
  std::set<std::string> citations;
  std::size_t published = 0, shared = 0, throttled = 0;
  for (const Observation& observation : model.frame.observations()) {
    published += observation.published ? 1 : 0;
    shared += observation.shared ? 1 : 0;
    throttled += observation.throttled ? 1 : 0;
    if (!observation.citation.empty()) citations.insert(observation.citation);
  }
  document.published = published > 0;
  document.citations = {citations.begin(), citations.end()};
  const auto note = [&](bool holds, const auto& text) {
    if (holds) document.notes.push_back(text);
  };
  note(published > 0,
       fmt::format("{} of {} {} without samples: the intervals are those of the fit, not of the "
                   "measurements",
                   published, format_count(model.fit.n(), "observation"),
                   by_count(published, "is a published number", "are published numbers")));
  note(shared > 0, fmt::format("{} {} timed while other work used the processors: {}",
                               format_count(shared, "observation"), by_count(shared, "was", "were"),
                               by_count(shared, "an upper limit", "upper limits")));
  note(throttled > 0,
       fmt::format("{} {} timed while power or heat throttled the device: what it needs with this "
                   "power and cooling",
                   format_count(throttled, "observation"), by_count(throttled, "was", "were")));
  note(model.clustered_by != "none" && model.errors.groups < few_groups,
       fmt::format("{}: clustered errors from fewer than {} groups tend to be too small",
                   format_count(model.errors.groups, "group"), few_groups));
  const std::vector<std::string>& reasons = model.errors.reasons;
  note(model.clustered_by == "launch" &&
           std::find(reasons.begin(), reasons.end(), "") == reasons.end(),
       fmt::format("no errors by launch: use another --cluster (problem), or get more launches: {}",
                   more_launches));
  const std::string between = between_problems_note(model);
  note(!between.empty(), between);
  note(!model.fit.constant,
       "the terms do not span a constant: R2 is about zero, not about the mean");
}

}  // namespace assay
