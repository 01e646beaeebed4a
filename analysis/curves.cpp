#include "analysis/curves.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "core/base/units.hpp"

namespace assay {

namespace {

AlphaBeta line_through(std::span<const double> messages, std::span<const double> bytes,
                       std::span<const double> seconds) {
  const auto n = static_cast<Eigen::Index>(bytes.size());
  const Eigen::Map<const Eigen::ArrayXd> count(messages.data(), n), size(bytes.data(), n),
      time(seconds.data(), n);
  // Columns of similar scale: bytes span nine decades, and the QR decomposition decides the rank by
  // magnitude.
  const double unit = size.maxCoeff();
  Eigen::MatrixXd design(n, 2);
  design.col(0) = (count / time).matrix();
  design.col(1) = (size / unit / time).matrix();
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(n);
  const Eigen::VectorXd fitted = design.colPivHouseholderQr().solve(ones);
  const Eigen::VectorXd residuals = design * fitted - ones;
  const Eigen::VectorXd weights = (1 / time).matrix();
  const double constant = weights.sum() / weights.squaredNorm();
  const double total = (constant * weights - ones).squaredNorm();
  AlphaBeta fit;
  fit.alpha = fitted(0);
  fit.beta = fitted(1) / unit;
  fit.worst = residuals.cwiseAbs().maxCoeff();
  fit.r_squared = total > 0 ? 1 - residuals.squaredNorm() / total : 1;
  return fit;
}

}  // namespace

AlphaBeta fit_alpha_beta(std::span<const double> bytes, std::span<const double> seconds) {
  const std::vector<double> weights(bytes.size(), 1);
  return fit_alpha_beta(weights, bytes, seconds);
}

AlphaBeta fit_alpha_beta(std::span<const double> messages, std::span<const double> bytes,
                         std::span<const double> seconds) {
  AlphaBeta fit = line_through(messages, bytes, seconds);
  const std::set<double> sizes(bytes.begin(), bytes.end());
  if (sizes.size() < 4) return fit;
  fit.held_out = 0;
  for (const double left_out : sizes) {
    std::vector<double> count, x, t;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] == left_out) continue;
      count.push_back(messages[i]);
      x.push_back(bytes[i]);
      t.push_back(seconds[i]);
    }
    const AlphaBeta without = line_through(count, x, t);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] != left_out) continue;
      const double predicted = without.alpha * messages[i] + without.beta * left_out;
      fit.held_out = std::max(*fit.held_out, std::fabs(predicted / seconds[i] - 1));
    }
  }
  return fit;
}

std::vector<Fastest> find_fastest(std::span<const AlphaBeta> lines) {
  std::vector<Fastest> all;
  if (lines.empty()) return all;
  // At size 0 the first line is the one with the least alpha, then with the least beta. Each next
  // line is the first that crosses the current one from above.
  const auto less = [](const AlphaBeta& a, const AlphaBeta& b) {
    return std::tie(a.alpha, a.beta) < std::tie(b.alpha, b.beta);
  };
  std::size_t now =
      static_cast<std::size_t>(std::min_element(lines.begin(), lines.end(), less) - lines.begin());
  double start = 0;
  while (now < lines.size()) {
    all.push_back({start, now});
    std::size_t next = lines.size();
    double at = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!(lines[i].beta < lines[now].beta)) continue;
      const double crossing =
          (lines[i].alpha - lines[now].alpha) / (lines[now].beta - lines[i].beta);
      if (crossing < at || (crossing == at && lines[i].beta < lines[next].beta)) {
        at = crossing;
        next = i;
      }
    }
    now = next;
    start = at;
  }
  return all;
}

std::string format_least(const Curve& curve) {
  if (curve.rivals == 0) return "-";
  if (!curve.comparable) return "withheld";
  if (!curve.least) return "never";
  const auto& [low, high] = *curve.least;
  if (!(low > 0)) return std::isinf(high) ? "always" : "below " + format_with_unit(high, "B");
  return std::isinf(high) ? "from " + format_with_unit(low, "B")
                          : format_with_unit(low, "B") + " .. " + format_with_unit(high, "B");
}

std::optional<double> message_bytes(const Series& series) {
  const std::optional<double> algbw = find_rate(series, "algbw"),
                              bytes = problem_number(series, "bytes");
  // algbw is message size over time, so it gives the message size. In files without algbw, the
  // bytes of the problem are the message size.
  const double message = algbw ? std::round(*algbw * series.median) : bytes.value_or(0);
  return message > 0 ? std::optional(message) : std::nullopt;
}

namespace {

/// A measured size of a curve.
struct Measurement {
  double bytes, seconds, busbw;
  std::size_t series;
  bool operator<(const Measurement& other) const {
    return std::tie(bytes, seconds) < std::tie(other.bytes, other.seconds);
  }
};

std::string curve_name(const Results& results, const Series& series,
                       const std::vector<std::string>& without) {
  return series.first().benchmark + " " + name_system(results, series) + " " +
         list_parameters_but(series, without);
}

/// Equal for series of the same result and environment that differ only in the given parameters.
std::string curve_key(const Results& results, const Series& series,
                      const std::vector<std::string>& without) {
  return curve_name(results, series, without) + "\n" + std::to_string(series.result) +
         series.environment;
}

/// Sorts by size.
Curve fit_curve(std::vector<Measurement> measurements) {
  std::sort(measurements.begin(), measurements.end());
  Curve curve;
  for (const Measurement& measurement : measurements) {
    curve.series.push_back(measurement.series);
    curve.bytes.push_back(measurement.bytes);
    curve.seconds.push_back(measurement.seconds);
    curve.busbw.push_back(measurement.busbw);
  }
  if (std::set<double>(curve.bytes.begin(), curve.bytes.end()).size() < 3)
    curve.reason = "fewer than 3 sizes";
  else
    curve.fit = fit_alpha_beta(curve.bytes, curve.seconds);
  return curve;
}

/// For curves that differ only in the algorithm, sets their rivals and the sizes at which each
/// curve is the fastest. `members`: their indices.
void compare_rivals(std::vector<Curve>& curves, const std::vector<std::size_t>& members) {
  // A poor or missing line may hide a fast algorithm, so it invalidates every claim about its
  // rivals.
  const bool comparable = std::all_of(members.begin(), members.end(),
                                      [&](std::size_t member) { return curves[member].fits(); });
  const bool any_fit = std::any_of(members.begin(), members.end(), [&](std::size_t member) {
    return curves[member].fit.has_value();
  });
  for (const std::size_t member : members) {
    curves[member].rivals = members.size() - 1;
    curves[member].comparable = comparable;
    curves[member].withholds = any_fit && !curves[member].fit;
  }
  if (members.size() < 2 || !comparable) return;
  std::vector<AlphaBeta> lines;
  for (const std::size_t member : members) lines.push_back(*curves[member].fit);
  const std::vector<Fastest> order = find_fastest(lines);
  for (std::size_t i = 0; i < order.size(); ++i)
    curves[members[order[i].which]].least = {
        order[i].first_bytes,
        i + 1 < order.size() ? order[i + 1].first_bytes : std::numeric_limits<double>::infinity()};
}

}  // namespace

std::vector<Curve> fit_curves(const Results& results, const SeriesList& all) {
  const std::vector<std::string> size_parameters{"problem", "bytes"};
  std::map<std::string, std::vector<Measurement>> measurements;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Series& series = all[i];
    if (series.published) continue;
    const std::optional<double> busbw = find_rate(series, "busbw");
    const auto bytes = message_bytes(series);
    if (busbw && bytes)
      measurements[curve_key(results, series, size_parameters)].push_back(
          {*bytes, series.median, *busbw, i});
  }
  std::vector<Curve> curves;
  std::map<std::string, std::vector<std::size_t>> rivals;
  for (auto& [key, sizes] : measurements) {
    Curve curve = fit_curve(std::move(sizes));
    const Series& first = all[curve.series.front()];
    curve.name = curve_name(results, first, size_parameters);
    rivals[curve_key(results, first, {"problem", "bytes", "algorithm"})].push_back(curves.size());
    curves.push_back(std::move(curve));
  }
  for (const auto& [key, members] : rivals) compare_rivals(curves, members);
  return curves;
}

namespace {

/// Fields of a problem that give its size, not its kind.
const std::set<std::string> size_fields{"size", "n", "global_batch_size"};

/// The work of one run, in the unit of its main rate; nothing if the row does not contain it.
std::optional<double> find_amount(const RowProblem& problem) {
  if (problem.amounts)
    for (const char* rate : {"images_per_s", "input_bytes_per_s", "flops_per_s", "bytes_per_s"})
      if (const auto amount = problem.amounts->find(rate);
          amount != problem.amounts->end() && amount->second)
        return amount->second;
  const auto batch = problem.number("global_batch_size");  // of published rows
  return batch ? batch : problem.number("size");
}

/// True if all ranks share the problem, false if each has its own; nothing for one rank. Published
/// rows do not tell; if their ranks share the problem, they have one of the fields tested last.
std::optional<bool> is_shared(const Series& series) {
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

/// One way in which rows over a number of ranks or threads are comparable.
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
      if (!amount || !is_shared(series).value_or(true)) return "";
      const double each = weak ? *amount / parameter_number(series, "ranks") : *amount;
      return fmt::format("{} {:.6g}", describe_extents(series.first()), each);
    };
  };
  const auto of_threads = [](bool weak) {
    return [weak](const Series& series) -> std::string {
      const auto flops = series.first().problem.flops;
      if (!flops) return weak ? "" : describe_work(series);
      const double each = weak ? *flops / parameter_number(series, "threads") : *flops;
      return fmt::format("{} {:.6g}", describe_work(series), each);
    };
  };
  return {{"threads", false, {"threads"}, of_threads(false)},
          // Each thread has its own problem, as in peak/fma.
          {"threads", true, {"threads"}, of_threads(true)},
          // All ranks share the work, so the batch of a rank differs.
          {"ranks", false, {"ranks", "nodes", "batch"}, of_ranks(false)},
          {"ranks", true, {"ranks", "nodes"}, of_ranks(true)},
          // Each rank has its own problem, so the total work grows.
          {"ranks", true, {"ranks", "nodes"}, [](const Series& series) {
             return is_shared(series).value_or(false) ? "" : describe_work(series);
           }}};
}

ScalingCurve make_curve(const Kind& kind, const std::map<double, std::size_t>& group,
                        const SeriesList& all) {
  const auto& [least, first] = *group.begin();
  ScalingCurve curve{kind.over, kind.weak, kind.along, {}};
  for (const auto& [count, i] : group) {
    const double work = kind.weak ? count / least : 1;
    const double speedup = work * all[first].median / all[i].median;
    curve.points.push_back({i, count, speedup, speedup * least / count});
  }
  return curve;
}

std::vector<ScalingCurve> make_curves(const Kind& kind, const Results& results,
                                      const SeriesList& all) {
  std::map<std::string, std::map<double, std::size_t>> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!has_time(all[i]) || all[i].published || is_collective(all[i])) continue;
    const double count = parameter_number(all[i], kind.over);
    if (!(count > 0)) continue;
    const std::string work = kind.work(all[i]);
    if (work.empty()) continue;
    auto& group = groups[std::to_string(all[i].result) + " " + describe_hardware(results, all[i]) +
                         " " + work + " " + list_parameters_but(all[i], kind.along)];
    const auto [place, fresh] = group.emplace(count, i);
    if (!fresh && all[i].median < all[place->second].median) place->second = i;
  }
  std::vector<ScalingCurve> curves;
  for (const auto& [key, group] : groups)
    if (group.size() > 1) curves.push_back(make_curve(kind, group, all));
  return curves;
}

}  // namespace

std::vector<std::vector<ScalingCurve>> make_scaling_curves(const Results& results,
                                                           const SeriesList& all) {
  std::vector<std::vector<ScalingCurve>> curves;
  for (const Kind& kind : kinds()) curves.push_back(make_curves(kind, results, all));
  return curves;
}

}  // namespace assay
