#include "models/input/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "core/base/error.hpp"
#include "core/measure/agreement.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

constexpr double least_cold = 0.1;  // of the files may stay in the page cache

}  // namespace

void Reading::begin(const PipelineCounters& counters) {
  before_ = counters;
  io_before_ = process_io();
}

void Reading::end(const PipelineCounters& counters, double seconds) {
  const std::optional<ProcessIo> io = process_io();
  seconds_ += seconds;
  images_ += static_cast<double>(counters.images - before_.images);
  stall_s_ += counters.stall_s - before_.stall_s;
  decoded_ += static_cast<double>(counters.decoded - before_.decoded);
  read_s_ += counters.read_s - before_.read_s;
  decode_s_ += counters.decode_s - before_.decode_s;
  bytes_ += static_cast<double>(counters.bytes - before_.bytes);
  if (!io_before_ || !io) {
    io_known_ = false;
    return;
  }
  requested_ += static_cast<double>(io->requested - io_before_->requested);
  from_device_ += static_cast<double>(io->from_device - io_before_->from_device);
}

double Reading::images_per_s(Communicator& ranks) const {
  double seconds = seconds_, images = images_;
  ranks.allreduce_max(std::span(&seconds, 1));
  RankCalls(ranks).sum(std::span(&images, 1));
  return seconds > 0 ? images / seconds : 0;
}

std::map<std::string, Metric> Reading::metrics(Communicator& ranks,
                                               std::int64_t bad_samples) const {
  double stall = seconds_ > 0 ? stall_s_ / seconds_ : 0;
  ranks.allreduce_max(std::span(&stall, 1));
  double sums[] = {bytes_,   decode_s_, read_s_, requested_, from_device_, io_known_ ? 0.0 : 1.0,
                   decoded_, images_};
  RankCalls calls(ranks);
  calls.prepare(sums);
  calls.sum(sums);
  const auto [bytes, decode_s, read_s, requested, from_device, unknown, decoded, images] = sums;
  if (images == 0) return {};
  std::map<std::string, Metric> metrics = {
      {"stall_percent", {100 * stall, "%", "lower"}},
      {"bad_samples", {static_cast<double>(bad_samples), "", "lower"}}};
  if (decoded > 0) {  // else all images were ready earlier
    metrics["encoded_bytes_per_image"] = {bytes / decoded, "B", ""};
    metrics["decode_s_per_image"] = {decode_s / decoded, "s", "lower"};
    metrics["read_s_per_image"] = {read_s / decoded, "s", "lower"};
  }
  if (unknown > 0) return metrics;  // the system does not report them
  if (decoded > 0) metrics["read_bytes_per_image"] = {from_device / decoded, "B", ""};
  // Read-ahead may bring more bytes than were requested.
  const double hits = requested > 0 ? std::max(0.0, 1 - from_device / requested) : 0;
  metrics["page_cache_percent"] = {100 * hits, "%", ""};
  return metrics;
}

std::int64_t count_samples(const std::vector<BadSamples>& mine, Communicator& ranks) {
  std::map<std::string, std::pair<std::int64_t, std::set<std::int64_t>>> sets;
  for (const BadSamples& own : mine) {
    auto& [faults, samples] = sets[own.set];
    faults = own.faults;
    for (const auto& of_rank : allgather_lists(own.samples, ranks))
      samples.insert(of_rank.begin(), of_rank.end());
  }
  std::int64_t all = 0;
  for (const auto& [set, fault] : sets) all += fault.first + std::ssize(fault.second);
  return all;
}

std::int64_t number_within(std::int64_t most, const std::vector<BadSamples>& mine,
                           Communicator& ranks) {
  const std::int64_t all = count_samples(mine, ranks);
  if (all <= most) return all;
  std::string own_message;
  for (const BadSamples& samples : mine)
    if (!samples.message.empty()) own_message = samples.message;
  const std::vector<std::string> messages = ranks.allgather(own_message);
  const auto known = std::find_if(messages.begin(), messages.end(),
                                  [](const std::string& message) { return !message.empty(); });
  // After a restart, only their numbers may be known.
  throw InputError(fmt::format(
      "{} (one of {} bad samples of all ranks; --max-bad-samples is {}). Repair the set, or allow "
      "more.",
      known == messages.end() ? mine.front().set : *known, all, most));
}

std::string last_message(const std::vector<std::string>& messages) {
  return messages.empty() ? "" : messages.back();
}

void make_cold(const std::vector<std::string>& files) {
  drop_from_cache(files);
  expect_cold(files);
}

void expect_cold(const std::vector<std::string>& files) {
  const double left = measure_cached_part(files);
  if (left > least_cold)
    throw CaseError(fmt::format(
        "{:.0f} % of the files stay in the page cache (a file system in memory, or another "
        "process uses them). Use a file system on a disk (TMPDIR, --data).",
        100 * left));
}

}  // namespace assay
