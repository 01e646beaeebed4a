// The comparison of a whole range, block by block in several threads.

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <cmath>

#include "core/api/host_device.hpp"
#include "core/measure/checker.hpp"

namespace assay {
namespace test_range_check {

constexpr std::int64_t elements = 1200003;  // several groups of blocks, and a part of one

double value_of(std::int64_t i) { return 1 + static_cast<double>(i % 1001) / 1024; }

/// A tensor of value_of() with one element changed, checked by `threads` threads.
OutputCheck check(
    int threads, std::int64_t changed, double to, std::optional<ElementRange> range,
    const std::function<void()>& entered = [] {}) {
  HostDevice device;
  const auto tensor =
      device.allocate(plain_tensor("dst", Role::output, DataType::fp32, {elements}));
  device.put(*tensor, [&](std::int64_t first, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::int64_t at = first + static_cast<std::int64_t>(i);
      out[i] = at == changed ? to : value_of(at) * (1 + 1e-6 * static_cast<double>(at % 7));
    }
  });
  Expectation expectation;
  expectation.whole = range.value_or(ElementRange{0, elements});
  expectation.block = [&](std::int64_t first, std::span<Expected> expected) {
    entered();
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = {value_of(first + static_cast<std::int64_t>(i)), 1e-4, 1e-5};
  };
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  OutputCheck found = check_output(device, *tensor, expectation);
  omp_set_num_threads(before);
  return found;
}

TEST(RangeCheck, HasTheSameNumbersWithAnyThreads) {
  const OutputCheck alone = check(1, -1, 0, {});
  EXPECT_EQ(alone.failure, "");
  EXPECT_EQ(alone.wrong_elements, 0);
  for (const int threads : {2, 3, 7}) {
    const OutputCheck several = check(threads, -1, 0, {});
    EXPECT_EQ(several.error_norm, alone.error_norm);
    EXPECT_EQ(several.reference_norm, alone.reference_norm);
    EXPECT_EQ(several.bound_norm, alone.bound_norm);
    EXPECT_EQ(several.max_error, alone.max_error);
    EXPECT_EQ(several.error_over_bound, alone.error_over_bound);
  }
  double squares = 0;
  for (std::int64_t i = 0; i < elements; ++i) squares += value_of(i) * value_of(i);
  EXPECT_NEAR(alone.reference_norm, std::sqrt(squares), 1e-9 * std::sqrt(squares));
}

TEST(RangeCheck, FindsOneWrongElementWhereverItIs) {
  for (const std::int64_t at :
       {std::int64_t{0}, std::int64_t{8191}, std::int64_t{8192}, std::int64_t{64 * 8192 - 1},
        std::int64_t{64 * 8192}, elements - 1}) {
    const OutputCheck wrong = check(3, at, 5, {});
    EXPECT_EQ(wrong.wrong_elements, 1) << at;
    EXPECT_EQ(wrong.failure.rfind("dst[" + std::to_string(at) + "] is 5 (expected ", 0), 0)
        << wrong.failure;
    const OutputCheck lost = check(3, at, std::nan(""), {});
    EXPECT_EQ(lost.wrong_elements, 1) << "counted once: " << lost.failure;
    // Outside of the range an element must only be finite.
    const ElementRange other =
        at < 100000 ? ElementRange{100000, elements - 100000} : ElementRange{0, 100000};
    EXPECT_EQ(check(3, at, 5, other).failure, "");
    EXPECT_EQ(check(3, at, std::nan(""), other).wrong_elements, 1);
  }
}

TEST(RangeCheck, MakesItsFirstCallAlone) {
  std::atomic<int> calls{0}, beside{0};
  std::atomic<bool> returned{false};
  check(4, -1, 0, {}, [&] {
    if (calls++ == 0) {
      for (int i = 0; i < 1000; ++i) beside += calls.load() > 1 ? 1 : 0;
      returned = true;
    } else if (!returned) {
      ++beside;
    }
  });
  EXPECT_EQ(beside, 0) << "oracles keep what they know of the inputs from it";
  EXPECT_GT(calls, 100);
}

}  // namespace test_range_check
}  // namespace assay
