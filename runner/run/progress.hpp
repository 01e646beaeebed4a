#pragma once
// The progress of a run on stderr: one line for each finished case.

#include <chrono>
#include <string>

#include "core/program/command.hpp"
#include "core/result/row.hpp"

namespace assay {

class Progress {
 public:
  /// `done` of `total` cases were finished by an earlier run. If stderr is not a terminal, lines
  /// are rate-limited, so that the log of a long run stays readable; rows that are not ok are
  /// always printed. `label` is printed before the count if several runs alternate.
  /// Verbosity::quiet prints only incorrect and failed rows, Verbosity::verbose every row and the
  /// commands that are started.
  Progress(int done, int total, std::string label = "", Verbosity talk = Verbosity::normal);
  void row(const Row& row);
  void note(const std::string& text);
  void detail(const std::string& text);  ///< a note with Verbosity::verbose, else nothing

 private:
  int done_, total_, here_ = 0;
  std::string label_;
  Verbosity talk_;
  bool terminal_, colour_;
  std::chrono::steady_clock::time_point start_, shown_at_;
};

/// " (±1.5 %)" after a median, from half the width of its interval. Above 100 % there is no number,
/// because the samples were not steady.
std::string format_spread(double percent);

/// "45 s", "3 min", "1.5 h".
std::string format_rough_time(double seconds);

/// "~3 min left", from the mean time of the cases done so far; "" before the first case.
std::string time_left(double seconds_so_far, int done, int remaining);

}  // namespace assay
