#pragma once
// Google Benchmark as a loop of a fixed number of iterations. Internal to timing.cpp.

#include <functional>
#include <string>

namespace assay {

/// One benchmark registered with Google Benchmark, run in chunks. Prints nothing, obeys neither
/// --benchmark flags nor BENCHMARK_* variables. Several threads of a process may each run one
/// (ranks in tests).
class BenchmarkLoop {
 public:
  BenchmarkLoop();
  ~BenchmarkLoop();
  BenchmarkLoop(const BenchmarkLoop&) = delete;
  BenchmarkLoop& operator=(const BenchmarkLoop&) = delete;

  /// Calls `iteration` exactly `count` times; it returns its own time in seconds and must not
  /// throw.
  void run(int count, const std::function<double()>& iteration);

 private:
  std::string name_;
};

}  // namespace assay
