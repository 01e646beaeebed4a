#pragma once
// Computes verdicts from launch medians: pure functions, used by `assay compare` and by its
// calibration on simulated suites.
//
// There are two stages. The screen flags rows; the verdict of a flagged row uses fresh launches
// only. Flagged rows were selected because they looked changed, so the launches of the screen
// cannot confirm the change. Fresh launches are independent of the selection: if each of the k
// flagged rows is tested at rate / k, the probability of any false alarm in the suite is at most
// the rate, for any number of flagged rows and any dependence between rows (Bonferroni, given the
// screen).

#include <optional>
#include <span>
#include <string>

#include "core/base/name_table.hpp"
#include "core/base/statistics.hpp"

namespace assay {

inline constexpr double screen_p = 0.1;
inline constexpr double compare_confidence = 0.95;
inline constexpr double compare_power = 0.8;
inline constexpr int screen_launches = 5, fresh_launches = 15;

enum class Verdict { faster, slower, same, inconclusive };
inline const NameTable<Verdict> compare_verdicts({"faster", "slower", "same", "inconclusive"},
                                                 "verdict");

struct Judgement {
  Verdict verdict = Verdict::inconclusive;
  bool detected = false;            ///< a change is significant, inside the tolerance or outside
  bool needs_confirmation = false;  ///< flagged, but without fresh launches
  std::string reason;               ///< why it is inconclusive, and what would resolve it
};

/// True if the row may have changed: the interval is not inside the tolerance, and p <= screen_p or
/// the ratio is outside of a positive tolerance. (A single slow launch of five can hide a change
/// from p. The screen only flags rows, so flagging too many costs nothing but fresh launches.)
bool is_flagged(const LaunchComparison& screen, double tolerance);

/// The verdict on a row that has only the launches of the screen.
Judgement judge_screen(const LaunchComparison& screen, double tolerance);

/// The verdict on a flagged row by its fresh launches (compare_fresh). Slower and faster need the
/// whole interval outside of the tolerance. `limit`: the false-alarm rate of the suite divided by
/// the number of flagged rows.
Judgement judge_fresh(const LaunchComparison& fresh, double tolerance, double limit);

/// Part of the launches of a side that is trimmed at each end.
inline constexpr double trimmed_part = 0.2;

/// Two-sided p of Yuen's test (Biometrika 61, 1974): Welch's t test on the logarithms with their
/// outer fifths trimmed, winsorised variances for each side, and Welch's degrees of freedom.
/// Because of the trimming, a single slow launch of five does not hide a change. 1 with fewer than
/// two launches on a side.
double compute_trimmed_welch_p(std::span<const double> base, std::span<const double> updated);

/// compare_launches with the larger of its p and compute_trimmed_welch_p: the test of the fresh
/// launches of a flagged row. The rank sum is exact for any distribution if nothing changed and the
/// launches of both sides are exchangeable. If one side has a larger spread, it rejects 3 to 7
/// times too often at small rates; a studentised permutation of the rank statistic (Neubert &
/// Brunner 2007) still rejects 2 to 3 times too often. Welch's test is near its rate for any
/// spreads. The larger p keeps the rate if either test keeps it.
LaunchComparison compare_fresh(std::span<const double> base, std::span<const double> updated,
                               double confidence);

/// minimum_detectable for compare_fresh: the larger of the values for the rank sum and the trimmed
/// test.
std::optional<double> fresh_detectable(std::span<const double> base,
                                       std::span<const double> updated, double alpha, double power);

}  // namespace assay
