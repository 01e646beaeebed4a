#include "models/parallel/parallel_way.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "core/base/error.hpp"

namespace assay {

Settings of_one_rank(Settings settings) {
  const auto whole = [&](const char* name) { return std::stoll(settings.at(name)); };
  if (const Parallel way = parse_parallel(settings.at("parallel")); way.replicated)
    settings["accumulate"] = std::to_string(whole("accumulate") * replicas(way, whole("ranks")));
  settings["ranks"] = "1";
  settings["nodes"] = "1";
  settings["parallel"] = "sync";
  return settings;
}

void expect_one_judged(const StepRange& steps) {
  if (steps.judged && steps.count() != 1) throw std::logic_error("more than one step is judged");
}

OrderedBatches::OrderedBatches(const TrainingRun& run, Communicator& ranks, int source, int sources)
    : ranks_(ranks),
      batches_(make_training_batches(
          run.data, {run.trainer.batch, source, sources, true, run.trainer.seed})) {
  if (run.claims)
    oracle_.emplace(DataClaims(of_one_rank(*run.claims), run.definition.input, run.claimed_seed),
                    source);
}

const Batch& OrderedBatches::at(std::int64_t epoch, std::int64_t index) {
  epoch += index / count();
  index %= count();
  if (epoch != epoch_ || index != next_) {
    PipelineState state;
    state.epoch = static_cast<std::uint64_t>(epoch);
    state.step = index;
    batches_->start(state);
  }
  const Batch& batch = take_next(*batches_, ranks_);
  epoch_ = index + 1 == count() ? epoch + 1 : epoch;
  next_ = (index + 1) % count();
  if (batch.epoch != static_cast<std::uint64_t>(epoch) || batch.step != index)
    note(fmt::format("batch {} of epoch {} is that of step {} of epoch {}", index, epoch + 1,
                     batch.step, batch.epoch + 1));
  if (oracle_) note(oracle_->glance(batch));
  return batch;
}

void OrderedBatches::note(const std::string& fault) {
  if (fault_.empty()) fault_ = fault;
}

}  // namespace assay
