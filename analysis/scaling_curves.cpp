#include "analysis/scaling_curves.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>
#include <set>

namespace assay {

using nlohmann::json;

namespace {

/// Fields of a problem that give its size, not its kind.
const std::set<std::string> of_size{"descriptor", "flops",  "bytes",
                                    "amounts",    "passes", "size",
                                    "shared_by",  "n",      "global_batch_size"};

/// The work of one run, in the unit of its main rate; nothing where the row does not contain it.
std::optional<double> amount_of(const Series& series) {
  const json amounts = series.first().at("problem").value("amounts", json::object());
  for (const char* const rate : {"images_per_s", "input_bytes_per_s", "flops_per_s", "bytes_per_s"})
    if (const json amount = amounts.value(rate, json()); amount.is_number()) return amount;
  for (const char* const whole : {"global_batch_size", "size"})  // of older programs
    if (const json amount = series.first().at("problem").value(whole, json()); amount.is_number())
      return amount;
  return std::nullopt;
}

/// Whether all ranks share the problem, or each has its own; nothing for one rank. Rows of older
/// programs do not contain it; if their ranks share the problem, they have the fields tested last.
std::optional<bool> shared(const Series& series) {
  const json& problem = series.first().at("problem");
  if (parameter_number(series, "ranks") <= 1) return std::nullopt;
  if (const json sharers = problem.value("shared_by", json()); sharers.is_number())
    return sharers > 1;
  return problem.contains("size") || problem.contains("global_batch_size") ||
         problem.value("amounts", json::object()).contains("images_per_s");
}

std::string extents_of(const Series& series) {
  std::string text = series.first().at("benchmark").get<std::string>();
  for (const auto& [name, value] : series.first().at("problem").items())
    if (!of_size.contains(name)) text += fmt::format(" {}={}", name, value.dump());
  return text;
}

/// One way in which rows are comparable over a number of ranks or threads.
struct Kind {
  std::string over;
  bool weak = false;
  std::vector<std::string> along;  ///< parameters that may differ
  /// A key that is equal for comparable rows; "" for rows that are not of this kind.
  std::function<std::string(const Series&)> work;
};

std::vector<Kind> kinds() {
  const auto of_ranks = [](bool weak) {
    return [weak](const Series& series) -> std::string {
      const auto amount = amount_of(series);
      if (!amount || !shared(series).value_or(true)) return "";
      const double each = weak ? *amount / parameter_number(series, "ranks") : *amount;
      return fmt::format("{} {:.6g}", extents_of(series), each);
    };
  };
  return {{"threads", false, {"threads"}, work_of},
          // All ranks share the work, so the batch of a rank differs.
          {"ranks", false, {"ranks", "nodes", "batch"}, of_ranks(false)},
          {"ranks", true, {"ranks", "nodes"}, of_ranks(true)},
          // Each rank has its own problem, so the total work grows.
          {"ranks", true, {"ranks", "nodes"}, [](const Series& series) {
             return shared(series).value_or(false) ? "" : work_of(series);
           }}};
}

ScalingCurve curve_of(const Kind& kind, const std::map<double, std::size_t>& group,
                      const std::vector<Series>& all) {
  const auto& [least, first] = *group.begin();
  ScalingCurve curve{kind.over, kind.weak, kind.along, {}};
  for (const auto& [count, i] : group) {
    const double work = kind.weak ? count / least : 1;
    const double speedup = work * all[first].median / all[i].median;
    curve.points.push_back({i, count, speedup, speedup * least / count});
  }
  return curve;
}

std::vector<ScalingCurve> curves_of_kind(const Kind& kind, const std::vector<NamedResult>& results,
                                         const std::vector<Series>& all) {
  std::map<std::string, std::map<double, std::size_t>> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!has_time(all[i]) || all[i].published || is_collective(all[i])) continue;
    const double count = parameter_number(all[i], kind.over);
    if (!(count > 0)) continue;
    const std::string work = kind.work(all[i]);
    if (work.empty()) continue;
    auto& group = groups[std::to_string(all[i].result) + " " + hardware_of(results, all[i]) + " " +
                         work + " " + parameters_but(all[i], kind.along)];
    const auto [place, fresh] = group.emplace(count, i);
    if (!fresh && all[i].median < all[place->second].median) place->second = i;
  }
  std::vector<ScalingCurve> curves;
  for (const auto& [key, group] : groups)
    if (group.size() > 1) curves.push_back(curve_of(kind, group, all));
  return curves;
}

}  // namespace

std::vector<std::vector<ScalingCurve>> scaling_curves(const std::vector<NamedResult>& results,
                                                      const std::vector<Series>& all) {
  std::vector<std::vector<ScalingCurve>> curves;
  for (const Kind& kind : kinds()) curves.push_back(curves_of_kind(kind, results, all));
  return curves;
}

}  // namespace assay
