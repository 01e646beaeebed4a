#pragma once
// A communicator that executes schedules. An algorithm is one function that writes them.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/algorithms/schedule.hpp"

namespace assay {

/// Schedules use the tags from this one to 32767; other users of the transport use lower ones.
inline constexpr int first_schedule_tag = 32256;

struct ScheduledAlgorithm {
  std::string name;
  std::vector<Collective> takes;
  /// Writes the steps of one rank. For an average, combine() only sums, and `write` must add a
  /// scale() at the end.
  std::function<void(const Call&, ScheduleBuilder&)> write;
};

/// Calls with equal collective, count, type, operation, root and placement share a schedule, which
/// prepare() or the first call writes. done() and wait() advance all started calls; each call has
/// its own tag.
std::unique_ptr<Communicator> make_scheduled(Communicator& transport, ScheduledAlgorithm algorithm);

}  // namespace assay
