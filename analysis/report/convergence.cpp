// Training to an accuracy: epochs and seconds against the images of a step, over trials.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "analysis/report/parts.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Settings that a curve goes over: how a step has so many images, and repetitions.
const std::vector<std::string> over{"batch", "accumulate", "ranks", "nodes", "trial"};

/// A training: what it took to reach its target, or that it did not; the accuracy of its last
/// epoch, null where it has none.
struct Trained {
  std::size_t row = 0;
  double epochs = never, seconds = never;
  json accuracy{};
};

std::vector<Trained> trained_of(const std::vector<Series>& all, std::size_t index) {
  std::vector<Trained> found;
  for (const json& row : all[index].rows) {
    // A row that failed or was stopped says nothing of learning.
    if (const std::string status = row.at("status"); status != "ok" && !is_final(status)) continue;
    const json epochs = row.value("epochs", json::array());
    Trained& trial = found.emplace_back(Trained{index});
    // Without a result: it has diverged, or missed a target that was demanded.
    if (!epochs.empty()) trial.accuracy = epochs.back().value("accuracy", 0.0);
    if (!row.value("metrics", json::object()).contains("time_to_accuracy_s")) continue;
    trial.epochs = epochs.back().at("epoch");
    trial.seconds = epochs.back().at("seconds");
  }
  return found;
}

/// Median and ends; a training that does not reach its target takes longer than any that does, so
/// that leaving it out would flatter the others. Null: beyond all limits.
json spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto finite = [](double value) { return value < never ? json(value) : json(); };
  const std::size_t n = values.size();
  const double upper = values[n / 2], median = n % 2 == 1 ? upper : (values[n / 2 - 1] + upper) / 2;
  return {
      {"median", finite(median)}, {"low", finite(values.front())}, {"high", finite(values.back())}};
}

json point_of(double images, const std::vector<Trained>& trained) {
  std::vector<double> epochs, seconds;
  json rows = json::array(), accuracy;
  for (const Trained& trial : trained) {
    epochs.push_back(trial.epochs);
    seconds.push_back(trial.seconds);
    rows.push_back(trial.row);
    accuracy = std::max(accuracy, trial.accuracy);  // null is less than any number
  }
  const auto unreached = std::count(epochs.begin(), epochs.end(), never);
  return {{"images", images},
          {"row", rows[0]},
          {"rows", rows},
          {"trials", trained.size()},
          {"reached", std::ssize(trained) - unreached},
          {"accuracy", accuracy},
          {"epochs", spread_of(epochs)},
          {"seconds", spread_of(seconds)}};
}

}  // namespace

json convergence_part(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  std::map<std::string, std::map<double, std::vector<Trained>>> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const json images = problem_number(all[i], "global_batch_size");
    if (all[i].published || !images.is_number() || !(parameter_number(all[i], "epochs") > 0))
      continue;
    // All trainings of a curve share this.
    const std::string key = fmt::format("{} {} {} {}", all[i].result, work_of(all[i]),
                                        hardware_of(results, all[i]), parameters_but(all[i], over));
    for (const Trained& trial : trained_of(all, i)) groups[key][images].push_back(trial);
  }
  json curves = json::array();
  std::vector<const Series*> firsts;
  for (const auto& [key, sizes] : groups) {
    json points = json::array();
    for (const auto& [images, trained] : sizes) points.push_back(point_of(images, trained));
    firsts.push_back(&all[sizes.begin()->second.front().row]);
    curves.push_back({{"target", firsts.back()->parameter("target")}, {"points", points}});
  }
  if (curves.empty()) return nullptr;
  name_apart(curves, results, firsts, over);
  return curves;
}

}  // namespace assay::report
