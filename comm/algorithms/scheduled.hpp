#pragma once
// A communicator that follows schedules: an algorithm is then one function that writes them.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/algorithms/schedule.hpp"

namespace assay {

/// Messages of schedules have tags from here to 32767; other users of the transport stay below.
inline constexpr int first_schedule_tag = 32256;

struct ScheduledAlgorithm {
  std::string name;
  std::vector<Collective> takes;
  /// The steps of one rank. What is reduced is summed; `average` is scaled by the writer.
  std::function<void(const Call&, ScheduleBuilder&)> write;
};

/// Calls of one shape (collective, count, type, operation, root, in place or not) share a schedule,
/// which prepare() or the first call writes. Non-blocking calls go on in done() and wait(), all
/// that are under way together; each has messages of its own tag.
std::unique_ptr<Communicator> scheduled(Communicator& transport, ScheduledAlgorithm algorithm);

}  // namespace assay
