#include "analysis/trainings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "formulas/quality.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// "" if the row does not report the parameters of a step, or if its software is unknown.
std::string make_step_hash(const ResultEnvironment& environment, const Row& row) {
  if (row.step_parameters.empty()) return "";
  json learnt = {{"benchmark", row.benchmark}};
  for (const char* part : {"assay", "libraries"}) {
    if (!environment.software.contains(part)) return "";
    learnt["software"][part] = environment.software[part];
  }
  for (const std::string& name : row.step_parameters)
    learnt["step"][name] =
        name == "problem" ? json(row.problem.descriptor) : row.parameters.at(name);
  return content_hash("step", learnt);
}

/// The data, and a note if the accuracy was measured on the training images. It then does not show
/// how the network treats other images. (Learnable data generate other images for validation.)
std::string name_images(const Series& series) {
  std::string data = series.parameter("data");
  if (series.parameter("validation") == "none" && !data.starts_with("learnable"))
    data += ", validated by the images of training";
  return data;
}

void add(const Series& series, TrainedSteps& steps) {
  for (const Row& row : series.rows) {
    ++steps.trainings;
    // An incorrect result of one launch invalidates those of the others.
    if (series.status != "ok" || row.epochs.empty() || time_to_target(row.metrics).empty())
      continue;
    ++steps.reached;
    const Epoch& last = row.epochs.back();
    if (const auto epochs = static_cast<double>(last.epoch); epochs >= steps.epochs) {
      steps.epochs = epochs;
      steps.quality = find_quality(last.measures);
      steps.score = last.measures.at(steps.quality);
    }
  }
}

}  // namespace

Trainings::Trainings(const Results& results) : results_(results) {
  const bool any = std::ranges::any_of(results, [](const NamedResult& named) {
    return std::ranges::any_of(named.rows(),
                               [](const Row& row) { return !row.step_parameters.empty(); });
  });
  if (!any) return;  // a fleet has many rows
  for (const Series& series : make_series(results)) {
    const std::string hash = step_hash(series);
    // A training that is unsupported, or whose process ended early, tells nothing about learning.
    const bool ended = series.status == "ok" || is_final(series.status);
    if (hash.empty() || !ended || !(series.first().number("epochs").value_or(0) > 0)) continue;
    const std::string data = name_images(series);
    TrainedSteps& steps = by_step_[hash][data];
    steps.data = data;
    add(series, steps);
  }
}

std::string Trainings::step_hash(const Series& series) const {
  const Row& row = series.first();
  return make_step_hash(results_[series.result].environment(row), row);
}

std::vector<TrainedSteps> Trainings::beside(const Series& series) const {
  std::vector<TrainedSteps> trained;
  const auto steps = by_step_.find(step_hash(series));
  if (steps == by_step_.end()) return trained;
  for (const auto& [data, entry] : steps->second)
    if (entry.reached > 0) trained.push_back(entry);
  return trained;
}

std::string Trainings::text(const Series& series) const {
  if (series.status != "ok" || series.first().step_parameters.empty()) return "";
  std::vector<std::string> parts;
  for (const TrainedSteps& steps : beside(series)) {
    const std::string alone =
        fmt::format("{} {:.4g} in {:g} epoch{} of {}", steps.quality, steps.score, steps.epochs,
                    steps.epochs == 1 ? "" : "s", steps.data);
    parts.push_back(steps.trainings == 1 ? alone
                                         : fmt::format("{} ({} of {} trainings)", alone,
                                                       steps.reached, steps.trainings));
  }
  return parts.empty() ? "throughput only" : join(parts, "; ");
}

}  // namespace assay
