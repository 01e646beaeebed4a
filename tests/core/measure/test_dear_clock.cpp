// Samples beside a clock that is dear to read, as two events of a GPU are.

#include <gtest/gtest.h>

#include "core/measure/timing.hpp"
#include "tests/core/scripted_workload.hpp"

namespace assay {
namespace test_dear_clock {

using testing_fakes::ScriptedWorkload;

TEST(Measure, ADearClockIsAHundredthOfASample) {
  ScriptedWorkload workload([](int) { return 25e-6; }, true);
  static_cast<testing_fakes::ScriptedStream&>(workload.stream()).clock_cost = 2e-6;  // as of a GPU
  const auto ranks = make_serial_communicator();
  const Timing timing = measure(workload, *ranks, {});
  EXPECT_GE(timing.batch, 7);
  EXPECT_LE(timing.batch, 10);
  for (const double sample : timing.samples) EXPECT_NEAR(sample, 25e-6, 0.015 * 25e-6);
}

}  // namespace test_dear_clock
}  // namespace assay
