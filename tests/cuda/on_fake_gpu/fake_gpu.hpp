#pragma once
// The fake GPU of the tests, beside a real one, on which the same tests run (ci/gpu_first_run).

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>

namespace assay::fake_gpu {

/// Bytes that the fake runtime has copied between GPU and host; null on a real GPU.
inline std::size_t (*const counter)() =
    reinterpret_cast<std::size_t (*)()>(dlsym(RTLD_DEFAULT, "fake_gpu_crossed"));

inline std::size_t crossed() { return counter == nullptr ? 0 : counter(); }

}  // namespace assay::fake_gpu

/// Skips a test on a real GPU: it needs a fault (FAKE_…) or a plan that only the fakes have.
#define ONLY_ON_THE_FAKE_GPU() \
  if (::assay::fake_gpu::counter == nullptr) GTEST_SKIP() << "only the fake GPU has its faults"
