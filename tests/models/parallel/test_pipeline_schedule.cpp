// Schedules of pipelines, and their predicted times.

#include "models/parallel/pipeline_schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace assay {
namespace test_pipeline_schedule {

constexpr auto interleaved = PipelineSchedule::one_forward_one_backward;
constexpr auto drained = PipelineSchedule::fill_drain;

std::string text(const std::vector<PipelineTask>& tasks) {
  std::string all;
  for (const PipelineTask& task : tasks)
    all += (task.forward ? "F" : "B") + std::to_string(task.batch) + " ";
  return all;
}

TEST(PipelineSchedule, Tasks) {
  EXPECT_EQ(text(pipeline_tasks(interleaved, 0, 3, 4)), "F0 F1 F2 B0 F3 B1 B2 B3 ");
  EXPECT_EQ(text(pipeline_tasks(interleaved, 2, 3, 4)), "F0 B0 F1 B1 F2 B2 F3 B3 ");
  EXPECT_EQ(text(pipeline_tasks(interleaved, 0, 4, 2)), "F0 F1 B0 B1 ");
  for (int stage = 0; stage < 2; ++stage)
    EXPECT_EQ(text(pipeline_tasks(drained, stage, 2, 3)), "F0 F1 F2 B0 B1 B2 ");
}

TEST(PipelineSchedule, NoMoreMicroBatchesAreInFlightThanThereAreSlots) {
  for (const PipelineSchedule schedule : {interleaved, drained})
    for (int stages = 2; stages <= 5; ++stages)
      for (std::int64_t batches = 1; batches <= 9; ++batches)
        for (int stage = 0; stage < stages; ++stage) {
          std::int64_t flight = 0, most = 0, forward = 0, backward = 0;
          for (const PipelineTask& task : pipeline_tasks(schedule, stage, stages, batches)) {
            EXPECT_EQ(task.batch, task.forward ? forward++ : backward++);
            flight += task.forward ? 1 : -1;
            ASSERT_GE(flight, 0);
            most = std::max(most, flight);
          }
          EXPECT_EQ(forward, batches);
          EXPECT_EQ(backward, batches);
          EXPECT_EQ(most, pipeline_slots(schedule, stage, stages, batches));
        }
}

TEST(PipelineSchedule, BalancedStagesHaveTheBubbleOfTheFormula) {
  for (const PipelineSchedule schedule : {interleaved, drained})
    for (int stages = 2; stages <= 4; ++stages)
      for (std::int64_t batches = 1; batches <= 8; ++batches) {
        const std::vector<StageCost> cost(static_cast<std::size_t>(stages), {1, 2, 0});
        const double seconds = pipeline_seconds(schedule, cost, batches);
        const auto late = static_cast<double>(stages - 1), all = static_cast<double>(batches);
        EXPECT_DOUBLE_EQ(seconds, 3 * (all + late));
        EXPECT_NEAR(pipeline_bubble(cost, batches, seconds), late / (all + late), 1e-12);
      }
}

TEST(PipelineSchedule, TheSlowestStageAndMessagesDecide) {
  // Forward 1 + 0.5 + 3, backward 6, message 0.5, backward 2; then the slow stage bounds.
  const std::vector<StageCost> cost{{1, 2, 9}, {3, 6, 0.5}};
  EXPECT_DOUBLE_EQ(pipeline_seconds(interleaved, cost, 1), 1 + 0.5 + 3 + 6 + 0.5 + 2);
  EXPECT_DOUBLE_EQ(pipeline_seconds(interleaved, cost, 3), 1 + 0.5 + 3 * 9 + 0.5 + 2);
}

}  // namespace test_pipeline_schedule
}  // namespace assay
