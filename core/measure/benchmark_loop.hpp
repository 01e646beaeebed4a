#pragma once
// Google Benchmark, used as a loop with a fixed number of iterations. Internal to timing.cpp.

#include <functional>
#include <string>

namespace assay {

/// One benchmark registered with Google Benchmark, run in chunks. It prints nothing and ignores
/// --benchmark flags and BENCHMARK_* variables. Several threads of a process may each run their own
/// (tests run ranks as threads).
class BenchmarkLoop {
 public:
  BenchmarkLoop();
  ~BenchmarkLoop();
  BenchmarkLoop(const BenchmarkLoop&) = delete;
  BenchmarkLoop& operator=(const BenchmarkLoop&) = delete;

  /// Calls `iteration` exactly `count` times. `iteration` returns its own time in seconds and must
  /// not throw.
  void run(int count, const std::function<double()>& iteration);

 private:
  std::string name_;
};

}  // namespace assay
