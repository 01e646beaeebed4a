#include "analysis/trainings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/hash.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// "" where the row does not say what a step computes, or its software is not known.
std::string hash_of(const json& result, const json& row) {
  const json names = row.value("step_parameters", json::array());
  const json& environments = result.at("environments");
  const std::size_t place = row.at("environment");
  if (names.empty() || place >= environments.size()) return "";
  const json software = environments[place].value("software", json::object());
  json learnt = {{"benchmark", row.at("benchmark")}};
  for (const char* part : {"assay", "libraries"}) {
    if (!software.contains(part)) return "";
    learnt["software"][part] = software.at(part);
  }
  for (const json& name : names)
    learnt["step"][name.get<std::string>()] =
        name == "problem" ? row.at("problem").at("descriptor")
                          : row.at("parameters").at(name.get<std::string>());
  return content_hash("step", learnt);
}

/// The data, and a note where the accuracy was measured on the images of training, which does not
/// show what the network does with other images. (Learnable data generate others for validation.)
std::string images_of(const Series& series) {
  std::string data = series.parameter("data");
  if (series.parameter("validation") == "none" && !data.starts_with("learnable"))
    data += ", validated by the images of training";
  return data;
}

void add(const Series& series, TrainedSteps& to) {
  for (const json& row : series.rows) {
    ++to.trainings;
    // A wrong result of one launch makes those of the others worthless.
    if (series.status != "ok" ||
        !row.value("metrics", json::object()).contains("time_to_accuracy_s"))
      continue;
    ++to.reached;
    const json& last = row.at("epochs").back();
    if (const double epochs = last.at("epoch"); epochs >= to.epochs) {
      to.epochs = epochs;
      to.accuracy = last.at("accuracy");
    }
  }
}

}  // namespace

Trainings::Trainings(const std::vector<NamedResult>& results) : results_(results) {
  const bool any = std::any_of(results.begin(), results.end(), [](const NamedResult& named) {
    const json& rows = named.result.at("rows");
    return std::any_of(rows.begin(), rows.end(),
                       [](const json& row) { return row.contains("step_parameters"); });
  });
  if (!any) return;  // a fleet has many rows
  for (const Series& series : series_of(results)) {
    const std::string hash = step_hash(series);
    const json epochs = series.first().at("parameters").value("epochs", json());
    // One that is unsupported, or whose process ended early, says nothing of learning.
    const bool ended = series.status == "ok" || is_final(series.status);
    if (hash.empty() || !ended || !epochs.is_number() || !(epochs > 0)) continue;
    const std::string data = images_of(series);
    TrainedSteps& to = by_step_[hash][data];
    to.data = data;
    add(series, to);
  }
}

std::string Trainings::step_hash(const Series& series) const {
  return hash_of(results_[series.result].result, series.first());
}

std::vector<TrainedSteps> Trainings::beside(const Series& series) const {
  std::vector<TrainedSteps> found;
  const auto steps = by_step_.find(step_hash(series));
  if (steps == by_step_.end()) return found;
  for (const auto& [data, trained] : steps->second)
    if (trained.reached > 0) found.push_back(trained);
  return found;
}

std::string Trainings::text(const Series& series) const {
  if (series.status != "ok" || !series.first().contains("step_parameters")) return "";
  std::vector<std::string> parts;
  for (const TrainedSteps& of : beside(series)) {
    const std::string alone = fmt::format("accuracy {:.4g} in {:g} epoch{} of {}", of.accuracy,
                                          of.epochs, of.epochs == 1 ? "" : "s", of.data);
    parts.push_back(of.trainings == 1
                        ? alone
                        : fmt::format("{} ({} of {} trainings)", alone, of.reached, of.trainings));
  }
  return parts.empty() ? "throughput only" : join(parts, "; ");
}

}  // namespace assay
