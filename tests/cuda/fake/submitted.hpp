#pragma once
// Work that is submitted to the fake GPU (cudart.cpp): done at once, or kept for the graph where
// the stream is being captured.

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include "tests/cuda/fake/opened.hpp"
#include "tests/cuda/fake/worked.hpp"

extern "C" {
__attribute__((weak)) int fake_gpu_captures();
__attribute__((weak)) void fake_gpu_keep(const std::function<void()>* work);
__attribute__((weak)) unsigned long fake_gpu_happened();
}

namespace fake {

/// `work` holds copies of what the call was given, but for the memory of the GPU.
template <class Work>
void submit(const Work& work) {
  if (fake_gpu_captures != nullptr && fake_gpu_captures() != 0) {
    const std::function<void()> kept = work;
    fake_gpu_keep(&kept);
  } else {
    const WorkScope meanwhile;
    const OpeningScope while_it_runs;
    work();
  }
}

/// The same for work that reads nothing that it writes; `what` tells it from all other work. If the
/// same is submitted again, and nothing else has happened, memory has its results: it only takes
/// its time, where that is given (FAKE_GPU_WORK_US). Plugins repeat a kernel to measure it. Long
/// work is always done: a stream is not held for longer than hold.cpp allows, in no repetition.
template <class Work>
void submit_repeatable(const std::vector<std::int64_t>& what, const Work& work) {
  using Clock = std::chrono::steady_clock;
  static std::vector<std::int64_t> before;
  static unsigned long happened = 0;
  const char* const given = std::getenv("FAKE_GPU_WORK_US");
  const bool can_tell = fake_gpu_happened != nullptr && fake_gpu_captures() == 0;
  if (can_tell && given != nullptr && *given != '-' && before == what &&
      happened == fake_gpu_happened()) {
    const WorkScope meanwhile;
  } else {
    const auto start = Clock::now();
    submit(work);
    before = what;
    if (!can_tell || Clock::now() - start > std::chrono::milliseconds(5)) before.clear();
  }
  happened = can_tell ? fake_gpu_happened() : 0;
}

}  // namespace fake
