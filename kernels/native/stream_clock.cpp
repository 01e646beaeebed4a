#include <algorithm>
#include <chrono>

#include "core/base/clock.hpp"
#include "kernels/native/stream.hpp"

namespace assay::native {
namespace {

constexpr int additions = 64, rounds = 1024, readings = 5;

/// `additions` additions, each of which needs the result of the previous one. It adds two
/// registers, because some processors add a constant without executing anything.
inline void add_chain(std::uint64_t& sum, std::uint64_t step) {
#if defined(__x86_64__)
  asm volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(step) : "cc");
#elif defined(__aarch64__)
  asm volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(step));
#else
  (void)sum, (void)step;
#endif
}

double own_clock(const std::function<void()>& before) {
#if defined(__x86_64__) || defined(__aarch64__)
  using Clock = std::chrono::steady_clock;
  std::uint64_t sum = 1;
  double fastest = 0;
  for (int reading = 0; reading < readings; ++reading) {
    before();
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < rounds; ++i) add_chain(sum, 3);
    const double seconds = seconds_since(start);
    if (seconds > 0) fastest = std::max(fastest, static_cast<double>(additions) * rounds / seconds);
  }
  return fastest;
#else
  (void)before;
  return 0;
#endif
}

}  // namespace

double clock_hz(int threads, const std::function<void()>& before) {
  double all = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : all) schedule(static)
  for (int thread = 0; thread < threads; ++thread) all += own_clock(before);
  return all / threads;
}

}  // namespace assay::native
