#include "models/network/epoch_ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/measure/rank_failure.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

constexpr std::int64_t telling_samples = 20;

}  // namespace

void EpochLedger::begin(std::int64_t epoch, std::int64_t step) {
  std::fill(taken_.begin(), taken_.end(), std::uint8_t{0});
  order_.clear();
  epoch_ = epoch;
  first_ = step * claims_.passes;
  batches_ = 0;
  fault_.clear();
}

void EpochLedger::add(const Batch& batch) {
  const std::int64_t step = first_ + batches_++;
  if (fault_.empty() && (batch.epoch != static_cast<std::uint64_t>(epoch_) || batch.step != step))
    fault_ = fmt::format("batch {} of epoch {} is that of step {} of epoch {}", step, epoch_ + 1,
                         batch.step, batch.epoch + 1);
  for (const std::int64_t sample : batch.samples) {
    if (sample < 0 || sample >= claims_.train_images) continue;  // BatchOracle refuses it
    std::uint8_t& count = taken_[static_cast<std::size_t>(sample)];
    count = static_cast<std::uint8_t>(std::min(count + 1, 2));
    order_.push_back(sample);
  }
}

std::string EpochLedger::end() {
  if (fault_.empty()) fault_ = fault_of_order();
  const std::string of_samples = fault_of_samples();
  if (fault_.empty()) fault_ = of_samples;
  return find_fault_of_any(fault_, ranks_);
}

/// A fault in the order of this rank's samples, or "".
std::string EpochLedger::fault_of_order() {
  const std::int64_t expected = (claims_.steps() * claims_.passes - first_) * claims_.batch;
  if (std::ssize(order_) != expected)
    return fmt::format("epoch {} has {} samples of this rank, not {}", epoch_ + 1, order_.size(),
                       expected);
  if (expected < telling_samples || first_ > 0) return "";
  if (std::is_sorted(order_.begin(), order_.end()))
    return fmt::format("the samples of epoch {} are in the order of the set", epoch_ + 1);
  std::uint64_t hash = 0;
  for (const std::int64_t sample : order_)
    hash = std::rotl((hash ^ static_cast<std::uint64_t>(sample)) * 0x9E3779B97F4A7C15U, 29);
  const auto earlier = std::find(orders_.begin(), orders_.end(), hash);
  const bool repeats = earlier != orders_.end();
  orders_.push_back(hash);
  return repeats ? fmt::format("epoch {} has the samples of an earlier epoch in the same order",
                               epoch_ + 1)
                 : "";
}

/// Adds the counts of all ranks. Each double holds several counts, as a whole number below 2^53.
std::string EpochLedger::fault_of_samples() {
  const int bits = std::bit_width(2 * static_cast<std::uint64_t>(ranks_.size()));
  const auto together = static_cast<std::size_t>(53 / bits);
  std::vector<double> sums((taken_.size() + together - 1) / together);
  for (std::size_t i = 0; i < taken_.size(); ++i)
    sums[i / together] += std::ldexp(taken_[i], bits * static_cast<int>(i % together));
  RankCalls(ranks_).sum(sums);
  std::int64_t repeated = 0, first = -1;
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    const std::uint64_t count = static_cast<std::uint64_t>(sums[i / together]) >>
                                    (static_cast<std::size_t>(bits) * (i % together)) &
                                ((std::uint64_t{1} << bits) - 1);
    if (count < 2) continue;
    if (first < 0) first = static_cast<std::int64_t>(i);
    repeated += static_cast<std::int64_t>(count) - 1;
  }
  // A bad sample is replaced by the next good one, which then comes twice.
  if (repeated <= claims_.bad_samples) return "";
  return fmt::format("sample {} comes more than once in epoch {} ({} samples of all ranks do)",
                     first, epoch_ + 1, repeated);
}

}  // namespace assay
