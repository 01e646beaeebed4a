// Parts that are curves: collectives by message size and by ranks, scaling, trainings by batch.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "analysis/curves.hpp"
#include "analysis/report/parts.hpp"
#include "formulas/quality.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

/// "allreduce": the name of a plot.
std::string name_plot(const Series& series) {
  const std::string collective = series.parameter("collective");
  return collective.empty() ? series.first().benchmark : collective;
}

/// A curve from which no conclusion is drawn shows only its R² (Curve::fits).
json by_size(const Results& results, const SeriesList& all) {
  json curves = json::array();
  std::vector<const Series*> firsts;
  for (const Curve& measured : fit_curves(results, all)) {
    firsts.push_back(&all[measured.series.front()]);
    // The fit, and the best bandwidth, use all its sizes.
    std::string mark;
    for (const std::size_t i : measured.series) mark = worse_mark(mark, choose_mark(all[i]));
    json curve = {{"group", name_plot(*firsts.back())},
                  {"points", json::array()},
                  {"mark", mark},
                  {"fit", nullptr},
                  {"r_squared", measured.fit ? json(measured.fit->r_squared) : json()},
                  {"least", measured.fit || measured.withholds ? format_least(measured) : "-"},
                  {"withheld", measured.rivals > 0 && !measured.comparable &&
                                   (measured.fit || measured.withholds)}};
    for (std::size_t i = 0; i < measured.bytes.size(); ++i)
      curve["points"].push_back({{"row", measured.series[i]},
                                 {"bytes", measured.bytes[i]},
                                 {"seconds", measured.seconds[i]},
                                 {"busbw", measured.busbw[i]}});
    if (measured.fits())
      curve["fit"] = {{"alpha", measured.fit->alpha},
                      {"beta", measured.fit->beta},
                      {"bandwidth", measured.fit->beta > 0 ? json(1 / measured.fit->beta) : json()},
                      {"worst", measured.fit->worst},
                      {"held_out", number_or_null(measured.fit->held_out)}};
    else
      curve["fit_reason"] =
          measured.fit ? fmt::format("R\u00b2 below {}", least_r_squared) : measured.reason;
    curves.push_back(std::move(curve));
  }
  name_apart(curves, results, firsts, {"bytes"});
  return curves;
}

/// The largest message of each series of ranks, because bandwidth, not latency, determines its
/// time.
json by_ranks(const Results& results, const SeriesList& all) {
  std::map<std::string, std::map<double, std::map<double, std::size_t>>> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double ranks = parameter_number(all[i], "ranks");
    const auto bytes = message_bytes(all[i]);
    if (all[i].published || !(find_rate(all[i], "busbw").value_or(0) > 0) || !bytes || !(ranks > 0))
      continue;
    // All rows of a curve over ranks share the hardware, and every setting but the size.
    const std::string key = fmt::format(
        "{} {} {} {}", all[i].result, all[i].first().benchmark, describe_hardware(results, all[i]),
        list_parameters_but(all[i], {"problem", "bytes", "ranks", "nodes"}));
    const auto [place, fresh] = groups[key][*bytes].emplace(ranks, i);
    if (!fresh && all[i].median < all[place->second].median) place->second = i;
  }
  json curves = json::array();
  std::vector<const Series*> firsts;
  for (const auto& [key, messages] : groups) {
    const auto largest = std::find_if(messages.rbegin(), messages.rend(),
                                      [](const auto& group) { return group.second.size() > 1; });
    if (largest == messages.rend()) continue;
    json points = json::array();
    const Series& fewest = all[largest->second.begin()->second];
    const double first = find_rate(fewest, "busbw").value_or(0);
    for (const auto& [ranks, i] : largest->second) {
      const double busbw = find_rate(all[i], "busbw").value_or(0);
      points.push_back({{"row", i},
                        {"count", ranks},
                        {"seconds", all[i].median},
                        {"busbw", busbw},
                        {"mark", choose_mark(all[i], fewest)},
                        {"efficiency", busbw / first}});
    }
    firsts.push_back(&fewest);
    curves.push_back(
        {{"group", name_plot(*firsts.back())}, {"bytes", largest->first}, {"points", points}});
  }
  name_apart(curves, results, firsts, {"ranks", "nodes"});
  return curves;
}

}  // namespace

json make_collectives_part(const Results& results, const SeriesList& all) {
  json sizes = by_size(results, all);
  if (sizes.empty()) return nullptr;
  return {{"sizes", std::move(sizes)},
          {"ranks", by_ranks(results, all)},
          {"least_r_squared", least_r_squared}};
}

json make_scaling_part(const Results& results, const SeriesList& all) {
  json parts = json::array();
  for (const std::vector<ScalingCurve>& curves : make_scaling_curves(results, all)) {
    json kind_curves = json::array();
    std::vector<const Series*> firsts;
    for (const ScalingCurve& curve : curves) {
      const ScalingPoint& first = curve.points.front();
      json points = json::array();
      for (const ScalingPoint& point : curve.points)
        points.push_back({{"row", point.series},
                          {"count", point.count},
                          {"seconds", all[point.series].median},
                          {"speedup", point.speedup},
                          {"ideal", point.count / first.count},
                          {"mark", choose_mark(all[point.series], all[first.series])},
                          {"efficiency", point.efficiency}});
      kind_curves.push_back({{"over", curve.over}, {"weak", curve.weak}, {"points", points}});
      firsts.push_back(&all[first.series]);
    }
    if (curves.empty()) continue;
    name_apart(kind_curves, results, firsts, curves.front().along);
    parts.insert(parts.end(), kind_curves.begin(), kind_curves.end());
  }
  return parts.empty() ? json() : parts;
}

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Settings that vary along a curve: those that make up the number of images in a step, and
/// repetitions.
const std::vector<std::string> over{"batch", "accumulate", "ranks", "nodes", "trial"};

/// A training: its epochs and seconds to the target (`never` if it did not reach it), and the score
/// of its last epoch (nothing if it has none).
struct Trained {
  std::size_t row = 0;
  double epochs = never, seconds = never;
  std::optional<double> score{};
  std::string quality{};  ///< of the network; "": no validation reports it
};

std::vector<Trained> list_trainings(const SeriesList& all, std::size_t index) {
  std::vector<Trained> trained;
  for (const Row& row : all[index].rows) {
    // A row that failed or was stopped tells nothing about learning.
    if (!row.is_ok() && !is_final(row.status)) continue;
    Trained& trial = trained.emplace_back(Trained{index});
    // A training without a result has diverged, or missed a required target.
    if (row.epochs.empty()) continue;
    const Epoch& last = row.epochs.back();
    trial.quality = find_quality(last.measures);
    const auto score = last.measures.find(trial.quality);
    trial.score = score == last.measures.end() ? 0 : score->second;
    if (time_to_target(row.metrics).empty()) continue;
    trial.epochs = static_cast<double>(last.epoch);
    trial.seconds = last.seconds;
  }
  return trained;
}

/// Median and extremes. A training that does not reach its target counts as longer than any that
/// does, because leaving it out would flatter the others. Null: beyond all limits.
json summarize(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto finite = [](double value) { return value < never ? json(value) : json(); };
  const std::size_t n = values.size();
  const double upper = values[n / 2], median = n % 2 == 1 ? upper : (values[n / 2 - 1] + upper) / 2;
  return {
      {"median", finite(median)}, {"low", finite(values.front())}, {"high", finite(values.back())}};
}

json make_point(double images, const std::vector<Trained>& trained) {
  std::vector<double> epochs, seconds;
  std::optional<double> score;
  std::string quality;
  json rows = json::array();
  for (const Trained& trial : trained) {
    epochs.push_back(trial.epochs);
    seconds.push_back(trial.seconds);
    rows.push_back(trial.row);
    if (quality.empty()) quality = trial.quality;
    score = std::max(score, trial.score);  // nothing is less than any number
  }
  const auto unreached = std::count(epochs.begin(), epochs.end(), never);
  return {{"images", images},
          {"row", rows[0]},
          {"rows", rows},
          {"trials", trained.size()},
          {"reached", std::ssize(trained) - unreached},
          {quality.empty() ? "accuracy" : quality, number_or_null(score)},
          {"epochs", summarize(epochs)},
          {"seconds", summarize(seconds)}};
}

}  // namespace

json make_convergence_part(const Results& results, const SeriesList& all) {
  std::map<std::string, std::map<double, std::vector<Trained>>> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::optional<double> images = problem_number(all[i], "global_batch_size");
    if (all[i].published || !images || !(parameter_number(all[i], "epochs") > 0)) continue;
    // All trainings of a curve share this.
    const std::string key =
        fmt::format("{} {} {} {}", all[i].result, describe_work(all[i]),
                    describe_hardware(results, all[i]), list_parameters_but(all[i], over));
    for (const Trained& trial : list_trainings(all, i)) groups[key][*images].push_back(trial);
  }
  json curves = json::array();
  std::vector<const Series*> firsts;
  for (const auto& [key, sizes] : groups) {
    json points = json::array();
    for (const auto& [images, trained] : sizes) points.push_back(make_point(images, trained));
    firsts.push_back(&all[sizes.begin()->second.front().row]);
    curves.push_back({{"target", firsts.back()->parameter("target")}, {"points", points}});
  }
  if (curves.empty()) return nullptr;
  name_apart(curves, results, firsts, over);
  return curves;
}

}  // namespace assay::report
