#pragma once
// Records the arrivals of all ranks during the timed phase and makes the table of blame from them.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/measure/arrival.hpp"
#include "core/measure/blame.hpp"
#include "core/measure/clock_offset.hpp"

namespace assay {

/// Arrivals of whole runs, hardly more than `most` of them: beyond that, only every second, fourth,
/// … run is kept. So all kinds of events of a run are kept equally often.
class ThinnedRuns {
 public:
  explicit ThinnedRuns(std::size_t most) : most_(most) {}
  /// The events of a run follow each other; the first has Arrival::run.
  void add(const Arrival& arrival);
  const std::vector<Arrival>& kept() const { return kept_; }
  std::size_t runs() const { return (seen_ + stride_ - 1) / stride_; }
  /// The share of all runs that is kept.
  double part() const {
    return seen_ == 0 ? 0 : static_cast<double>(runs()) / static_cast<double>(seen_);
  }

 private:
  void thin();

  std::size_t most_, seen_ = 0, stride_ = 1;
  std::vector<Arrival> kept_;
};

/// The job whose ranks are recorded.
struct RecordedJob {
  std::string period{};  ///< name of its arrivals
  JobNetwork network{};
  std::string device{};  ///< of this rank; "": the processors that it may use
};

class BlameRecorder {
 public:
  BlameRecorder(Communicator& ranks, RecordedJob job);
  /// Call it before runs whose arrivals count: compares the clocks. Untimed. Collective.
  void begin();
  /// Call it after the runs: compares the clocks again. All ranks have the same number of arrivals,
  /// of whole runs. At most 65536 events are kept, and 2^20 of all ranks together (ThinnedRuns).
  /// Collective.
  void end(const std::vector<Arrival>& arrivals);
  /// Makes one table from the records of all ranks, equal on all. Collective.
  Blame make_blame();

 private:
  void take_largest(std::vector<double>& numbers) const;
  /// The number of each arrival, of all ranks, event by event.
  std::vector<double> of_all(double (*number)(const Arrival&)) const;
  void describe_ranks(Blame& blame) const;
  void add_times(Blame& blame) const;
  std::optional<Blame::Links> links(const Blame& blame) const;

  Communicator& ranks_;
  RecordedJob job_;
  ThinnedRuns runs_;  ///< by the clock of rank 0; `at` without `network`
  ClockOffset before_;
  std::optional<double> ready_before_, ready_{0};
  double error_ = 0;  ///< largest error of this rank's clock
};

}  // namespace assay
