#include "models/network/training_burn.hpp"

#include <fmt/format.h>

namespace assay {

void TrainingBurn::load_data(std::size_t) {
  if (begin_.values.empty()) trainer_.save(begin_);
  restore();
  poison_outputs();
}

void TrainingBurn::restore() {
  Trainer::State begin = begin_;
  trainer_.swap_state(begin);
}

void TrainingBurn::run_once() {
  trainer_.step(rate_);
  trainer_.device().stream().wait();
}

std::uint64_t TrainingBurn::digest() {
  Trainer::State now;
  trainer_.save(now);
  std::uint64_t all = hash_bytes(now.running.data(), now.running.size() * sizeof(double));
  for (const std::vector<std::byte>& value : now.values) {
    const std::uint64_t parts[2] = {all, hash_bytes(value.data(), value.size())};
    all = hash_bytes(parts, sizeof parts);
  }
  return all;
}

std::vector<BurnOutput> TrainingBurn::outputs() {
  Trainer::State now;
  trainer_.save(now);
  std::vector<BurnOutput> all;
  for (std::vector<std::byte>& value : now.values) {
    const auto bytes = static_cast<std::int64_t>(value.size());
    const DataType type = bytes % 4 == 0 ? DataType::fp32 : DataType::bf16;
    all.push_back({plain_tensor(fmt::format("state {}", all.size()), Role::output, type,
                                {bytes / static_cast<std::int64_t>(size_of(type))}),
                   std::move(value)});
  }
  return all;
}

/// The same step with checks must leave the same state.
Verification TrainingBurn::check_outputs() {
  Trainer::State learnt;
  trainer_.save(learnt);
  restore();
  Verification verification = checks_.make("in the burn-in");
  checks_.compare(learnt, begin_, "a step of the burn-in", verification);
  trainer_.swap_state(learnt);
  return verification;
}

}  // namespace assay
