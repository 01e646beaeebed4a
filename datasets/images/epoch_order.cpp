#include "datasets/images/epoch_order.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "core/api/random.hpp"

namespace assay {
namespace {

/// A seed for each use of an epoch: the shards, and each group of them.
std::uint64_t make_seed(std::uint64_t seed, std::uint64_t epoch, std::uint64_t use) {
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  const r123::Philox4x32::ctr_type words =
      r123::Philox4x32()({{low(epoch), low(epoch >> 32), low(use), low(use >> 32)}},
                         {{low(seed), low(seed >> 32) ^ 0x6f726465u}});
  return std::uint64_t{words[1]} << 32 | words[0];
}

std::vector<std::size_t> permutation(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  shuffle(order, seed);
  return order;
}

}  // namespace

EpochOrder::EpochOrder(std::int64_t samples, std::vector<std::int64_t> shards, std::uint64_t seed,
                       bool shuffle, int interleave)
    : samples_(samples),
      shards_(std::move(shards)),
      seed_(seed),
      shuffle_(shuffle),
      interleave_(interleave == 0 ? shards_.size() : static_cast<std::size_t>(interleave)) {}

EpochOrder::Samples EpochOrder::samples(std::uint64_t epoch) const {
  const std::lock_guard lock(mutex_);  // others wait for the thread that makes it
  for (const EpochSamples& kept : kept_)
    if (kept.epoch == epoch) return kept.samples;
  auto order = std::make_shared<const std::vector<std::int64_t>>(make(epoch));
  if (kept_.size() == 2) kept_.erase(kept_.begin());
  kept_.push_back({epoch, order});
  return order;
}

std::vector<std::int64_t> EpochOrder::make(std::uint64_t epoch) const {
  std::vector<std::int64_t> order;
  order.reserve(static_cast<std::size_t>(samples_));
  if (!shuffle_) {
    order.resize(static_cast<std::size_t>(samples_));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    return order;
  }
  const std::vector<std::size_t> shards = permutation(shards_.size(), make_seed(seed_, epoch, 0));
  for (std::size_t first = 0; first < shards.size(); first += interleave_) {
    std::vector<std::int64_t> group;
    for (std::size_t i = first; i < std::min(first + interleave_, shards.size()); ++i) {
      const std::size_t shard = shards[i];
      const std::int64_t end = shard + 1 < shards_.size() ? shards_[shard + 1] : samples_;
      for (std::int64_t sample = shards_[shard]; sample < end; ++sample) group.push_back(sample);
    }
    for (const std::size_t i : permutation(group.size(), make_seed(seed_, epoch, 1 + first)))
      order.push_back(group[i]);
  }
  return order;
}

std::int64_t RankShare::steps() const {
  if (whole_batches) return samples / batch / ranks;
  const std::int64_t batches = (samples + batch - 1) / batch;
  return (batches + ranks - 1) / ranks;
}

std::int64_t RankShare::position(std::int64_t step, std::int64_t i) const {
  const std::int64_t position = (step * ranks + rank) * batch + i;
  return position < samples ? position : -1;
}

}  // namespace assay
