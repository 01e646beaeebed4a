#include "models/parallel/pipeline_schedule.hpp"

#include <algorithm>
#include <stdexcept>

namespace assay {

std::int64_t pipeline_slots(PipelineSchedule schedule, int stage, int stages,
                            std::int64_t batches) {
  if (schedule == PipelineSchedule::fill_drain) return batches;
  return std::min<std::int64_t>(batches, stages - stage);
}

std::vector<PipelineTask> pipeline_tasks(PipelineSchedule schedule, int stage, int stages,
                                         std::int64_t batches) {
  // Before its first backward pass, a stage makes one forward pass for each slot.
  const std::int64_t slots = pipeline_slots(schedule, stage, stages, batches);
  std::vector<PipelineTask> tasks;
  for (std::int64_t batch = 0; batch < batches + slots - 1; ++batch) {
    if (batch < batches) tasks.push_back({true, batch});
    if (batch >= slots - 1) tasks.push_back({false, batch - slots + 1});
  }
  return tasks;
}

double pipeline_seconds(PipelineSchedule schedule, const std::vector<StageCost>& stages,
                        std::int64_t batches) {
  const int count = static_cast<int>(stages.size());
  const auto passes = static_cast<std::size_t>(batches);
  constexpr double not_yet = -1;
  // Ends of passes, by stage and micro-batch.
  std::vector<std::vector<double>> forward(stages.size(), std::vector<double>(passes, not_yet)),
      backward = forward;
  std::vector<std::vector<PipelineTask>> tasks;
  for (int stage = 0; stage < count; ++stage)
    tasks.push_back(pipeline_tasks(schedule, stage, count, batches));
  std::vector<std::size_t> next(stages.size());
  std::vector<double> free(stages.size());
  const auto find_begin = [&](std::size_t stage, const PipelineTask& task) {
    const auto batch = static_cast<std::size_t>(task.batch);
    const bool alone = task.forward ? stage == 0 : stage + 1 == stages.size();
    if (alone) return free[stage];
    const double sent = task.forward ? forward[stage - 1][batch] : backward[stage + 1][batch];
    const double message = stages[task.forward ? stage : stage + 1].message;
    return sent == not_yet ? not_yet : std::max(free[stage], sent + message);
  };
  for (bool moves = true; moves;) {
    moves = false;
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
      while (next[stage] < tasks[stage].size()) {
        const PipelineTask& task = tasks[stage][next[stage]];
        const double begin = find_begin(stage, task);
        if (begin == not_yet) break;
        free[stage] = begin + (task.forward ? stages[stage].forward : stages[stage].backward);
        (task.forward ? forward : backward)[stage][static_cast<std::size_t>(task.batch)] =
            free[stage];
        ++next[stage];
        moves = true;
      }
  }
  for (std::size_t stage = 0; stage < stages.size(); ++stage)
    if (next[stage] < tasks[stage].size())
      throw std::logic_error("a schedule of a pipeline waits for itself");
  return *std::max_element(free.begin(), free.end());
}

double pipeline_bubble(const std::vector<StageCost>& stages, std::int64_t batches, double seconds) {
  double busy = 0;
  for (const StageCost& stage : stages)
    busy += (stage.forward + stage.backward) * static_cast<double>(batches);
  return 1 - busy / (seconds * static_cast<double>(stages.size()));
}

}  // namespace assay
