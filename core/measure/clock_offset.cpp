#include "core/measure/clock_offset.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "core/api/host_device.hpp"
#include "core/measure/agreement.hpp"

namespace assay {
namespace {

constexpr int messages_of_clock = 20, clock_tag = 19;
/// The drift between two oscillators of ±100 ppm, more than computers' oscillators may have.
constexpr double most_drift = 2e-4;

/// Identifies the clock that this rank reads: containers of one kernel may have separate clocks,
/// and hosts may have equal names.
std::string clock_name(const std::string& host) {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat space {};
  const bool known = ::stat("/proc/self/ns/time", &space) == 0;
  return fmt::format("{} {} {}", host, boot, known ? space.st_ino : 0);
}

/// The message of rank `asker` to rank 0, and its answer.
void exchange_time(Communicator& ranks, int asker, OffsetEstimate& estimate) {
  HostStream stream;
  double theirs = 0;
  const Buffer message{&theirs, 1, DataType::fp64};
  const auto say = [&](int to) {
    Request request = ranks.send(message, to, clock_tag, stream);
    ranks.wait(request);
  };
  const auto hear = [&](int from) {
    Request request = ranks.receive(message, from, clock_tag, stream);
    ranks.wait(request);
  };
  if (ranks.rank() == asker) {
    const double ask_time = raw_seconds();
    say(0);
    hear(0);
    estimate.add(ask_time, theirs, raw_seconds());
  } else {
    hear(asker);
    theirs = raw_seconds();
    say(asker);
  }
}

}  // namespace

double raw_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void OffsetEstimate::add(double ask_time, double theirs, double answered) {
  const double drifted = most_drift * (answered - ask_time);
  const double low = ask_time - theirs - drifted, high = answered - theirs + drifted;
  const double since = any_ ? most_drift * (answered - at_) : 0;
  low_ = any_ ? std::max(low_ - since, low) : low;
  high_ = any_ ? std::min(high_ + since, high) : high;
  at_ = answered;
  any_ = true;
}

ClockOffset OffsetEstimate::middle() const {
  const double error =
      any_ && low_ <= high_ ? (high_ - low_) / 2 : std::numeric_limits<double>::infinity();
  return {at_, (low_ + high_) / 2, error};
}

ClockOffset measure_clock_offset(Communicator& ranks) {
  const std::vector<std::string> clocks = ranks.allgather(clock_name(ranks.host()));
  OffsetEstimate estimate;
  for (int asker = 1; asker < ranks.size(); ++asker) {
    const auto end = clocks.begin() + asker;
    if (std::find(clocks.begin(), end, *end) != end) continue;  // it is known
    if (ranks.rank() != asker && ranks.rank() != 0) continue;
    for (int i = 0; i < messages_of_clock; ++i) exchange_time(ranks, asker, estimate);
  }
  const auto first =
      std::find(clocks.begin(), clocks.end(), clocks[static_cast<std::size_t>(ranks.rank())]) -
      clocks.begin();
  ClockOffset mine{raw_seconds(), 0, 0};
  if (first == ranks.rank() && first > 0) mine = estimate.middle();
  constexpr double jumped = 1e300;  // allgather_numbers() has finite numbers
  const auto of_first = static_cast<std::size_t>(first);
  mine.offset = allgather_numbers(mine.offset, ranks).at(of_first);
  mine.error = allgather_numbers(std::min(mine.error, jumped), ranks).at(of_first);
  if (mine.error == jumped) mine.error = std::numeric_limits<double>::infinity();
  mine.at = allgather_numbers(mine.at, ranks).at(of_first);
  return mine;
}

double align(double time, const ClockOffset& before, const ClockOffset& after) {
  const double span = after.at - before.at;
  const double part = span > 0 ? std::clamp((time - before.at) / span, 0.0, 1.0) : 0;
  return time - before.offset - part * (after.offset - before.offset);
}

double alignment_error(const ClockOffset& before, const ClockOffset& after) {
  return std::max(before.error, after.error) + std::abs(after.offset - before.offset);
}

}  // namespace assay
