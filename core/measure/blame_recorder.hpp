#pragma once
// Records the arrivals of all ranks during the timed phase and makes the table of blame from them.

#include <optional>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/measure/arrival.hpp"
#include "core/measure/blame.hpp"
#include "core/measure/clock_offset.hpp"

namespace assay {

class BlameRecorder {
 public:
  /// `of`: what job the arrivals are of. `device`: where the ranks compute.
  BlameRecorder(Communicator& ranks, std::string of, std::string device);
  /// Before runs whose arrivals count: compares the clocks. Untimed. Collective.
  void begin();
  /// After them: compares the clocks again. All ranks have as many arrivals. At most 4096 events
  /// are kept; if there are more, every second, fourth, … one. Collective.
  void end(const std::vector<Arrival>& arrivals);
  /// Makes one table from the records of all ranks, equal on all. Collective.
  Blame found();

 private:
  void keep(const Arrival& arrival);
  void take_largest(std::vector<double>& numbers) const;
  /// The number of each arrival, of all ranks, event by event.
  std::vector<double> of_all(double (*number)(const Arrival&)) const;
  void describe_ranks(Blame& blame) const;
  void add_times(Blame& blame) const;
  void add_links(Blame& blame) const;

  Communicator& ranks_;
  std::string of_, device_;
  std::size_t most_;
  ClockOffset before_;
  std::optional<double> ready_before_, ready_{0};
  double error_ = 0;           ///< the largest of this rank's clock
  std::vector<Arrival> kept_;  ///< by the clock of rank 0; `at` without `network`
  std::size_t seen_ = 0, stride_ = 1;
};

}  // namespace assay
