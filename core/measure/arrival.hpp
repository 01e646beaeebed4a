#pragma once
// When a rank arrives at a collective, and what it did before.

#include <string>

namespace assay {

class Communicator;  // core/api/communicator.hpp

/// Times of one rank. From `begun` to `at` it computed, except during `input` and `network`.
struct Arrival {
  double begun = 0;      ///< raw_seconds(), when the ranks began together
  double at = 0;         ///< raw_seconds(), when it could only wait
  double input = 0;      ///< seconds of waiting for its data
  double network = 0;    ///< seconds in calls that communicate
  double processor = 0;  ///< processor seconds of its process
  double wait = 0;       ///< seconds in the collective
  /// Seconds of the run (a step, a round) that begins with this event; its later events have 0.
  double run = 0;
};

/// Processor time of all threads of this process.
double process_seconds();

/// The network of a job's collectives, over which the links between its hosts are measured.
struct JobNetwork {
  std::string name{"the launcher's"};
  Communicator* ranks = nullptr;  ///< its messages are in host memory; null: the runner's own ranks
  std::string unsupported{};      ///< why its links cannot be measured
};

/// The way in which the arrivals of a workload are known.
struct ArrivalSource {
  enum class Kind {
    none,
    steps,      ///< the workload has them: Workload::take_arrivals()
    collective  ///< a run is one collective, which the ranks enter after any other work
  };
  Kind kind = Kind::none;
  std::string unsupported{};  ///< if there are none: why, if a user may expect them
  JobNetwork network{};
};

}  // namespace assay
