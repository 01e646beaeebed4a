#pragma once
// Latencies of single operations of timed runs.

#include <chrono>
#include <cstddef>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/statistics.hpp"

namespace assay {

/// Keeps at most a million latencies, those of the first runs.
class Latencies {
 public:
  Latencies() { seconds_.reserve(most); }
  void clear() { seconds_.clear(); }
  /// Runs one operation and keeps its time.
  template <class Body>
  void time(const Body& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    if (seconds_.size() < most) seconds_.push_back(seconds_since(start));
  }
  double p50() const { return seconds_.empty() ? 0 : median(seconds_); }
  double p99() const { return seconds_.empty() ? 0 : quantile(seconds_, 0.99); }

 private:
  static constexpr std::size_t most = 1000000;
  std::vector<double> seconds_;
};

}  // namespace assay
