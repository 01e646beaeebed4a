// A slow rank holds the others if a step needs all ranks: sums of gradients, pipelines and divided
// layers. It compares counts: how long steps take is the machine's. test_servers.cpp has the ways
// whose workers do not wait.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "comm/forwarding.hpp"
#include "models/network/network_family.hpp"
#include "models/parallel/parallel_way.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/models/network/trainers.hpp"
#include "tests/models/parallel/way_session.hpp"

namespace assay {
namespace test_slow_rank {

constexpr int steps_of_test = 3, ranks_of_test = 2;

/// Counts what a rank gives to others, and sleeps before it if the rank is slow.
class Giving final : public ForwardingCommunicator {
 public:
  Giving(Communicator& under, std::atomic<int>& given, bool slow)
      : ForwardingCommunicator(under), calls_(given), slow_(slow) {}
  void run(const Call& call, Stream& stream) override {
    give();
    under().run(call, stream);
  }
  Request start(const Call& call, Stream& stream) override {
    give();
    return under().start(call, stream);
  }
  Request send(Buffer data, int to, int tag, Stream& stream) override {
    give();
    return under().send(data, to, tag, stream);
  }

 private:
  void give() {
    if (slow_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ++calls_;
  }

  std::atomic<int>& calls_;
  const bool slow_;
};

TrainingRun run_of(const std::string& way) {
  const NamedNetwork named = find_named_network("mlp:i64w32l3c10");
  TrainingRun run;
  run.trainer = network_test::small_settings("native");
  run.trainer.network = named.family->network(named.family->canonical(named.fields));
  run.trainer.executor.threads = 1;
  run.parallel = parse_parallel(way);
  if (run.parallel.kind == WayKind::pipeline) run.trainer.accumulate = 2;
  run.data.classes = run.trainer.network.classes;
  run.data.input = run.trainer.network.input;
  run.data.labels = run.trainer.network.labels;
  return run;
}

/// Makes steps; calls `after` at the end of each.
template <class After>
void make_steps(const TrainingRun& run, Communicator& ranks, const After& after) {
  if (run.parallel.kind == WayKind::sync) {
    const auto trainer = network_test::made(run.trainer, ranks);
    OrderedBatches batches(run, ranks);
    const Batch& batch = batches.at(0, ranks.rank());
    trainer->load(batch.images, batch.labels);
    trainer->prepare();
    after();
    for (int step = 0; step < steps_of_test; ++step, after()) trainer->step(0.01);
    return;
  }
  network_test::WaySession session(
      run, ranks, run.parallel.kind == WayKind::split ? &make_split_way : &make_pipeline_way);
  after();
  for (int step = 0; step < steps_of_test; ++step, after()) session.make(step, 1, false);
}

/// When another rank has ended a step, the slow one has given all that it gives in it.
void expect_held(const std::string& way, int slow, int least_of_step) {
  SCOPED_TRACE(way + ", slow rank " + std::to_string(slow));
  std::atomic<int> given = 0;
  std::vector<int> seen, own;  // by the other rank and by the slow one, after each step
  testing_fakes::on_threads(ranks_of_test, [&](Communicator& under) {
    const bool is_slow = under.rank() == slow;
    std::atomic<int> of_other = 0;
    Giving ranks(under, is_slow ? given : of_other, is_slow);
    make_steps(run_of(way), ranks, [&] { (is_slow ? own : seen).push_back(given); });
  });
  ASSERT_EQ(own.size(), 1U + steps_of_test);
  ASSERT_EQ(seen.size(), own.size());
  for (std::size_t step = 1; step < own.size(); ++step) {
    EXPECT_GE(own[step] - own[step - 1], least_of_step) << "in step " << step;
    EXPECT_GE(seen[step], own[step]) << "after step " << step;
  }
}

TEST(SlowRank, HoldsTheOthersWhereAStepNeedsAllRanks) {
  for (const int slow : {0, 1}) {
    expect_held("sync", slow, 1);
    expect_held("pipeline:2", slow, 2);  // passes
    expect_held("split:2", slow, 3);     // sums: forward in both pairs, backward in one
  }
}

}  // namespace test_slow_rank
}  // namespace assay
