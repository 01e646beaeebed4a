#include "analysis/curves.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace assay {

namespace {

AlphaBeta line_through(std::span<const double> bytes, std::span<const double> seconds) {
  const auto n = static_cast<Eigen::Index>(bytes.size());
  const Eigen::Map<const Eigen::ArrayXd> size(bytes.data(), n), time(seconds.data(), n);
  // Columns of like scale: bytes span nine decades, and the QR decides a rank by magnitude.
  const double unit = size.maxCoeff();
  Eigen::MatrixXd design(n, 2);
  design.col(0) = (1 / time).matrix();
  design.col(1) = (size / unit / time).matrix();
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(n);
  const Eigen::VectorXd fitted = design.colPivHouseholderQr().solve(ones);
  const Eigen::VectorXd residuals = design * fitted - ones;
  const Eigen::VectorXd weights = design.col(0);
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
  AlphaBeta fit = line_through(bytes, seconds);
  const std::set<double> sizes(bytes.begin(), bytes.end());
  if (sizes.size() < 4) return fit;
  fit.held_out = 0;
  for (const double left_out : sizes) {
    std::vector<double> x, t;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] == left_out) continue;
      x.push_back(bytes[i]);
      t.push_back(seconds[i]);
    }
    const AlphaBeta without = line_through(x, t);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] == left_out)
        fit.held_out =
            std::max(*fit.held_out, std::fabs(without.seconds(left_out) / seconds[i] - 1));
  }
  return fit;
}

std::vector<Fastest> fastest(std::span<const AlphaBeta> lines) {
  std::vector<Fastest> all;
  if (lines.empty()) return all;
  // At size 0 the least alpha, then the least beta; on from there, whichever line crosses first
  // from above.
  const auto less = [](const AlphaBeta& a, const AlphaBeta& b) {
    return std::tie(a.alpha, a.beta) < std::tie(b.alpha, b.beta);
  };
  std::size_t now =
      static_cast<std::size_t>(std::min_element(lines.begin(), lines.end(), less) - lines.begin());
  double from = 0;
  while (now < lines.size()) {
    all.push_back({from, now});
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
    from = at;
  }
  return all;
}

std::optional<double> message_bytes(const Series& series) {
  const nlohmann::json algbw = rate_of(series, "algbw"), bytes = problem_number(series, "bytes");
  // algbw is message over time, so that its message is what alpha and beta are for; a file without
  // it has the bytes of the problem.
  const double message = algbw.is_number()   ? std::round(algbw.get<double>() * series.median)
                         : bytes.is_number() ? bytes.get<double>()
                                             : 0;
  return message > 0 ? std::optional(message) : std::nullopt;
}

std::vector<Curve> curves_of(const std::vector<NamedResult>& results,
                             const std::vector<Series>& all) {
  struct Point {
    double bytes, seconds, busbw;
    std::size_t series;
    bool operator<(const Point& other) const {
      return std::tie(bytes, seconds) < std::tie(other.bytes, other.seconds);
    }
  };
  const auto key_of = [&](const Series& one, const std::vector<std::string>& without) {
    return text_of(one.first(), "benchmark") + " " + system_of(results, one) + " " +
           parameters_but(one, without);
  };
  std::map<std::string, std::vector<Point>> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Series& one = all[i];
    if (one.published) continue;
    const nlohmann::json busbw = rate_of(one, "busbw");
    const auto bytes = message_bytes(one);
    if (!busbw.is_number() || !bytes) continue;
    groups[key_of(one, {"problem", "bytes"}) + "\n" + std::to_string(one.result) + one.environment]
        .push_back({*bytes, one.median, busbw, i});
  }
  std::vector<Curve> curves;
  std::map<std::string, std::vector<std::size_t>> rivals;  // those with a fit
  for (auto& [key, points] : groups) {
    std::sort(points.begin(), points.end());
    const Series& first = all[points.front().series];
    Curve curve;
    curve.name = key_of(first, {"problem", "bytes"});
    for (const Point& one : points) {
      curve.series.push_back(one.series);
      curve.bytes.push_back(one.bytes);
      curve.seconds.push_back(one.seconds);
      curve.busbw.push_back(one.busbw);
    }
    if (std::set<double>(curve.bytes.begin(), curve.bytes.end()).size() < 3)
      curve.reason = "fewer than 3 sizes";
    else
      curve.fit = fit_alpha_beta(curve.bytes, curve.seconds);
    if (curve.fit)
      rivals[key_of(first, {"problem", "bytes", "algorithm"}) + "\n" +
             std::to_string(first.result) + first.environment]
          .push_back(curves.size());
    curves.push_back(std::move(curve));
  }
  for (const auto& [key, members] : rivals) {
    std::vector<AlphaBeta> lines;
    for (const std::size_t one : members) {
      curves[one].rivals = members.size() - 1;
      lines.push_back(*curves[one].fit);
    }
    if (members.size() < 2) continue;
    const std::vector<Fastest> order = fastest(lines);
    for (std::size_t i = 0; i < order.size(); ++i)
      curves[members[order[i].which]].least = {
          order[i].from,
          i + 1 < order.size() ? order[i + 1].from : std::numeric_limits<double>::infinity()};
  }
  return curves;
}

}  // namespace assay
