#pragma once
// Curves, for tables and reports. Time against message size for the collectives: alpha and beta,
// and the sizes from which another algorithm is faster. Speedup and parallel efficiency of rows
// that differ only in their number of ranks or threads.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// t = alpha + beta * bytes. The fit minimises the squares of the relative residuals, because the
/// error of a time is proportional to it; absolute residuals would let the largest message
/// determine the fit.
struct AlphaBeta {
  double alpha = 0, beta = 0;
  double worst = 0;  ///< largest relative residual
  /// 1 - (sum of squared relative residuals) / (the same for the best constant time).
  double r_squared = 0;
  /// Largest relative error of the prediction for a size that was left out of the fit (each size in
  /// turn); empty with fewer than 4 sizes.
  std::optional<double> held_out;
  double seconds(double bytes) const { return alpha + beta * bytes; }
};
/// The least R² of a line from which conclusions are drawn: below it neither alpha nor beta is
/// shown, and no algorithm is called faster than another (docs/method.md).
inline constexpr double least_r_squared = 0.9;
/// `bytes`: at least two different sizes. `seconds`: positive times.
AlphaBeta fit_alpha_beta(std::span<const double> bytes, std::span<const double> seconds);
/// The same for calls that consist of several messages: t = alpha * messages + beta * bytes.
AlphaBeta fit_alpha_beta(std::span<const double> messages, std::span<const double> bytes,
                         std::span<const double> seconds);

/// A line that has the least time from a size on.
struct Fastest {
  double first_bytes = 0;  ///< bytes
  std::size_t which = 0;   ///< index of the line
};
/// The fastest line for each range of sizes, in the order of size, beginning at size 0. Lines that
/// are never the fastest do not appear. The first of equal lines counts.
std::vector<Fastest> find_fastest(std::span<const AlphaBeta> lines);

/// The times of a collective over message sizes: one algorithm of one transport on one machine.
struct Curve {
  std::string name;                 ///< benchmark, system and parameters
  std::vector<std::size_t> series;  ///< indices of the series, by size
  std::vector<double> bytes, seconds, busbw;
  std::optional<AlphaBeta> fit;
  std::string reason;  ///< why there is no fit
  bool fits() const { return fit && fit->r_squared >= least_r_squared; }
  /// The number of other curves that differ from this curve only in the algorithm.
  std::size_t rivals = 0;
  /// True if this curve and all of its rivals have a fit that reaches least_r_squared.
  bool comparable = true;
  /// True if the curve has no fit, so that no claim is made about rivals that have one.
  bool withholds = false;
  /// The sizes, from and to (may be infinite), at which the line of this curve is below those of
  /// its rivals. Empty if there are no rivals or no such sizes, or if the curves are not
  /// comparable.
  std::optional<std::pair<double, double>> least;
};
/// "from 64.0 KiB": the sizes of Curve::least; "-" without rivals.
std::string format_least(const Curve& curve);
/// The message size in bytes of a row of a collective: from its algbw, else from its problem.
/// Nothing if neither is known.
std::optional<double> message_bytes(const Series& series);
/// The curves of all measured rows with a bus bandwidth.
std::vector<Curve> fit_curves(const Results& results, const SeriesList& all);

struct ScalingPoint {
  std::size_t series = 0;  ///< index
  double count = 0;        ///< ranks or threads
  /// Work per time, relative to the point with the smallest count.
  double speedup = 1;
  double efficiency = 1;  ///< speedup / (count / smallest count)
};

struct ScalingCurve {
  std::string over;                ///< "ranks" or "threads"
  bool weak = false;               ///< the work grows with the count; else it is constant
  std::vector<std::string> along;  ///< parameters that may differ between the points
  std::vector<ScalingPoint> points;
};

/// The curves with at least two points, grouped by kind: over threads that share the work; over
/// threads that each have the same work; strong scaling over ranks; weak scaling over ranks that
/// share a problem; weak scaling over ranks that each have a problem. The points of a curve are
/// measured on the same hardware, in the same result. If several rows have one count, the fastest
/// counts. Collectives are left out, because their work grows with the ranks in another way.
std::vector<std::vector<ScalingCurve>> make_scaling_curves(const Results& results,
                                                           const SeriesList& all);

}  // namespace assay
