#include "analysis/scaling_curves.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>
#include <set>

namespace assay {

namespace {

/// Fields of a problem that give its size, not its kind.
const std::set<std::string> size_fields{"size", "n", "global_batch_size"};

/// The work of one run, in the unit of its main rate; nothing where the row does not contain it.
std::optional<double> find_amount(const RowProblem& problem) {
  if (problem.amounts)
    for (const char* rate : {"images_per_s", "input_bytes_per_s", "flops_per_s", "bytes_per_s"})
      if (const auto amount = problem.amounts->find(rate);
          amount != problem.amounts->end() && amount->second)
        return amount->second;
  const auto batch = problem.number("global_batch_size");  // of older programs
  return batch ? batch : problem.number("size");
}

/// Whether all ranks share the problem, or each has its own; nothing for one rank. Rows of older
/// programs do not contain it; if their ranks share the problem, they have the fields tested last.
std::optional<bool> shared(const Series& series) {
  const RowProblem& problem = series.first().problem;
  if (parameter_number(series, "ranks") <= 1) return std::nullopt;
  if (problem.shared_by) return *problem.shared_by > 1;
  return problem.rest.contains("size") || problem.rest.contains("global_batch_size") ||
         (problem.amounts && problem.amounts->contains("images_per_s"));
}

std::string describe_extents(const Row& row) {
  std::string text = row.benchmark;
  for (const auto& [name, value] : row.problem.rest.items())
    if (!size_fields.contains(name)) text += fmt::format(" {}={}", name, value.dump());
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
      const auto amount = find_amount(series.first().problem);
      if (!amount || !shared(series).value_or(true)) return "";
      const double each = weak ? *amount / parameter_number(series, "ranks") : *amount;
      return fmt::format("{} {:.6g}", describe_extents(series.first()), each);
    };
  };
  const auto of_threads = [](bool weak) {
    return [weak](const Series& series) -> std::string {
      const auto flops = series.first().problem.flops;
      if (!flops) return weak ? "" : work_of(series);
      const double each = weak ? *flops / parameter_number(series, "threads") : *flops;
      return fmt::format("{} {:.6g}", work_of(series), each);
    };
  };
  return {{"threads", false, {"threads"}, of_threads(false)},
          // As in peak/fma.
          {"threads", true, {"threads"}, of_threads(true)},
          // All ranks share the work, so the batch of a rank differs.
          {"ranks", false, {"ranks", "nodes", "batch"}, of_ranks(false)},
          {"ranks", true, {"ranks", "nodes"}, of_ranks(true)},
          // Each rank has its own problem, so the total work grows.
          {"ranks", true, {"ranks", "nodes"}, [](const Series& series) {
             return shared(series).value_or(false) ? "" : work_of(series);
           }}};
}

ScalingCurve make_curve(const Kind& kind, const std::map<double, std::size_t>& group,
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

std::vector<ScalingCurve> make_curves(const Kind& kind, const std::vector<NamedResult>& results,
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
    if (group.size() > 1) curves.push_back(make_curve(kind, group, all));
  return curves;
}

}  // namespace

std::vector<std::vector<ScalingCurve>> scaling_curves(const std::vector<NamedResult>& results,
                                                      const std::vector<Series>& all) {
  std::vector<std::vector<ScalingCurve>> curves;
  for (const Kind& kind : kinds()) curves.push_back(make_curves(kind, results, all));
  return curves;
}

}  // namespace assay
