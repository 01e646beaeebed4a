#pragma once
// Time against message size, for the collectives: curves, what alpha and beta they have, and from
// which size on another algorithm is the faster one.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// t = alpha + beta * bytes. Least squares of the relative residuals, since the error of a time
/// grows with it: otherwise the largest message alone would decide.
struct AlphaBeta {
  double alpha = 0, beta = 0;
  double worst = 0;  ///< largest relative residual
  /// 1 - (squared relative residuals) / (those of the best constant time).
  double r_squared = 0;
  /// Largest relative error for a size that was left out of the fit (each in turn); empty with
  /// fewer than 4 sizes.
  std::optional<double> held_out;
  double seconds(double bytes) const { return alpha + beta * bytes; }
};
/// At least two sizes; positive times.
AlphaBeta fit_alpha_beta(std::span<const double> bytes, std::span<const double> seconds);

/// Which of several fitted lines is the least time, by size.
struct Fastest {
  double from = 0;        ///< bytes
  std::size_t which = 0;  ///< index of the line
};
/// In the order of size, the first from 0 on. Lines that are nowhere the least do not appear. Equal
/// lines: the first.
std::vector<Fastest> fastest(std::span<const AlphaBeta> lines);

/// The sizes of one collective by one algorithm of one transport on one machine.
struct Curve {
  std::string name;                 ///< benchmark, system and parameters
  std::vector<std::size_t> series;  ///< index, by size
  std::vector<double> bytes, seconds, busbw;
  std::optional<AlphaBeta> fit;
  std::string reason;  ///< why there is none
  /// Curves with a fit that differ from this one in the algorithm alone.
  std::size_t rivals = 0;
  /// The sizes, from and to (may be infinite), for which this one's line is the least of theirs:
  /// the crossovers. Empty where there are no rivals, or no such sizes.
  std::optional<std::pair<double, double>> least;
};
/// The message of a row with a bus bandwidth, in bytes: of its algbw, else of its problem. Nothing
/// where there is none.
std::optional<double> message_bytes(const Series& series);
/// From measured rows with a bus bandwidth.
std::vector<Curve> curves_of(const std::vector<NamedResult>& results,
                             const std::vector<Series>& all);

}  // namespace assay
