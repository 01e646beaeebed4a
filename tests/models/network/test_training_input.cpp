// The images of timed steps are read and decoded within timed steps.

#include <gtest/gtest.h>

#include <string>

#include "core/measure/run_case.hpp"
#include "models/network/training_workload.hpp"
#include "tests/datasets/images/image_sets.hpp"
#include "tests/models/network/trainers.hpp"

namespace assay {
namespace test_training_input {

using network_test::plugins;

/// Large enough that a step of the small network takes a part of the time to decode its images.
const std::string large_images = "generated:n24c10w1000h750files1";

Outcome outcome_of(int steps) {
  const auto alone = make_serial_communicator();
  TrainingRun run;
  run.trainer = network_test::small_settings("native");
  run.steps = steps;
  run.data.data = large_images;
  run.data.classes = run.trainer.network.classes;
  run.data.input = run.trainer.network.input;
  return run_case([&] { return make_training_workload(run, plugins(), *alone); }, *alone,
                  TimingOptions{});
}

/// Checks take longer than steps: threads that decoded meanwhile would have two batches ready after
/// each check, and a few steps would be timed without their input (4 times too many images/s).
TEST(TrainingInput, NothingIsPreparedWhileResultsAreChecked) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Outcome outcome = outcome_of(3);
  ASSERT_EQ(outcome.status, "ok") << outcome.reason;
  // One thread decodes: the timed steps take as long as it needs for their images, if none were
  // ready before. A sample that is being decoded when a check begins is not counted.
  EXPECT_LT(outcome.metrics.at("mean_images_per_s").value *
                outcome.metrics.at("decode_s_per_image").value,
            1 / 0.7);
}

}  // namespace test_training_input
}  // namespace assay
