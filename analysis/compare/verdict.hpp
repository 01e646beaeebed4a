#pragma once
// From launch medians to verdicts: pure functions, the same for `assay compare` and for its
// calibration on simulated suites.
//
// Two stages. The screen flags rows; the verdict of a flagged row rests on fresh launches alone.
// Flagged rows were selected for looking changed, so their own launches are no evidence any more.
// The fresh ones are independent of the selection: with each of the k flagged rows tested at
// rate / k, the probability of any false alarm in the suite is at most the rate, however many rows
// the screen lets through and however the rows depend on each other (Bonferroni, given the screen).

#include <span>
#include <string>

#include "core/base/statistics.hpp"

namespace assay {

inline constexpr double screen_p = 0.1;
inline constexpr double compare_confidence = 0.95;
inline constexpr double compare_power = 0.8;
inline constexpr int screen_launches = 5, fresh_launches = 15;

enum class Verdict { faster, slower, same, inconclusive };
const char* name_of(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::inconclusive;
  bool detected = false;            ///< the change is real, tolerated or not
  bool needs_confirmation = false;  ///< flagged, and there are no fresh launches
  std::string reason;               ///< of what is inconclusive, with what would resolve it
};

/// Whether the row may have changed: the interval is not inside the tolerance, and p <= screen_p or
/// the ratio itself is outside of one that was given. (One slow launch of five hides a change from
/// p; the screen decides nothing, so that it may let through whatever it likes, at the price of
/// fresh launches.)
bool is_flagged(const LaunchComparison& screen, double tolerance);

/// A row of which there are the screen's launches only.
Judgement judge_screen(const LaunchComparison& screen, double tolerance);

/// A flagged row by its fresh launches (compare_fresh); slower and faster need the whole interval
/// beyond the tolerance. `limit` is the false-alarm rate of the suite over the
/// number of flagged rows.
Judgement judge_fresh(const LaunchComparison& fresh, double tolerance, double limit);

}  // namespace assay
