#pragma once
// Work that is submitted to the fake GPU (cudart.cpp): done at once, or kept for the graph where
// the stream is being captured.

#include <functional>

#include "tests/cuda/fake/opened.hpp"
#include "tests/cuda/fake/worked.hpp"

extern "C" {
__attribute__((weak)) int fake_gpu_captures();
__attribute__((weak)) void fake_gpu_keep(const std::function<void()>* work);
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

}  // namespace fake
