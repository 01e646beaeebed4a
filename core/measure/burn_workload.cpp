// The part of VerifiedWorkload that a burn-in repeats.

#include <bit>
#include <stdexcept>

#include "core/measure/checker.hpp"
#include "core/measure/verified_workload.hpp"

namespace assay {

Result<BurnTarget*> VerifiedWorkload::burn_target() {
  if (buffers_.count() > 1)
    return Unsupported{"a burn-in has one set of buffers. Use --cache hot."};
  return static_cast<BurnTarget*>(this);
}

std::vector<BurnTarget::Data> VerifiedWorkload::burn_data() {
  std::vector<Data> kinds;
  burn_draws_.clear();
  const Execution ran = execution();
  if (oracle_->exact_magnitude(ran) > 0) {
    burn_draws_.push_back({.exact = true});
    kinds.push_back({"integers", true});
    if (oracle_->groups(ran) == 1) {  // with more groups, sums of ones may be rounded
      burn_draws_.push_back({.exact = true, .constant = true});
      kinds.push_back({"constant", true});
    }
    verifier_.begin(true);  // the magnitude of integers
  }
  verifier_.begin(false);
  burn_draws_.push_back({});
  kinds.push_back({"random", false});
  return kinds;
}

void VerifiedWorkload::load_data(std::size_t kind) {
  fill(0, burn_draws_[kind]);
  buffers_.poison(0);
  recording_.reset();
  bind(buffers_.set(0));
  device_.stream().wait();
}

void VerifiedWorkload::restore() {
  renew(0);
  settle(0);
}

void VerifiedWorkload::poison_outputs() {
  buffers_.poison(0);
  device_.stream().wait();
}

void VerifiedWorkload::run_once() {
  run(device_.stream());
  device_.stream().wait();
}

std::uint64_t VerifiedWorkload::digest() {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < buffers_.specs().size(); ++i) {
    if (!is_output(buffers_.specs()[i])) continue;
    Tensor& tensor = buffers_.tensor(0, i);
    std::uint64_t parts[2] = {all, 0};
    if (device_.name() == "cpu") {
      parts[1] = hash_bytes(tensor.data(), tensor.spec().bytes);
    } else {
      const ChecksumWeights weights(tensor.spec().dims, setup_.seed + i);
      const ScanResult scanned = device_.scan(tensor, {}, &weights);
      parts[1] = std::bit_cast<std::uint64_t>(scanned.sum) +
                 static_cast<std::uint64_t>(scanned.bad) * 0x9E3779B97F4A7C15u;
    }
    all = hash_bytes(parts, sizeof parts);
  }
  return all;
}

std::vector<BurnOutput> VerifiedWorkload::outputs() {
  std::vector<BurnOutput> all;
  for (std::size_t i = 0; i < buffers_.specs().size(); ++i) {
    if (!is_output(buffers_.specs()[i])) continue;
    Tensor& tensor = buffers_.tensor(0, i);
    BurnOutput& output = all.emplace_back(BurnOutput{tensor.spec(), {}});
    output.bytes.resize(tensor.spec().bytes);
    device_.copy(output.bytes.data(), tensor.data(), output.bytes.size());
  }
  device_.stream().wait();
  return all;
}

Verification VerifiedWorkload::check_outputs() {
  Verification result;
  result.passed = true;
  try {
    verifier_.check(0, "in the burn-in", result);
  } catch (const std::invalid_argument& error) {  // of an oracle that needs random data
    result.passed = false;
    result.undecided = true;
    result.reason = error.what();
  }
  return result;
}

/// Checks all changed elements first, because check_outputs() checks only a sample.
bool VerifiedWorkload::is_wrong(const Elements& changed) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < buffers_.specs().size(); ++i) {
    const TensorSpec& spec = buffers_.specs()[i];
    if (!is_output(spec)) continue;
    const std::vector<std::int64_t>& indices = changed[next++];
    const bool named = !spec.layout && !spec.opaque && !oracle_->is_judged_by_relations(spec) &&
                       !oracle_->why_unjudgeable(execution());
    if (!indices.empty() && named && verifier_.wrong_elements(0, i, indices) > 0) return true;
  }
  return check_outputs().wrong();
}

}  // namespace assay
