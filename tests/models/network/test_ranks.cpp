// Data-parallel training: ranks as threads.

#include <gtest/gtest.h>

#include <cmath>

#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "tests/core/thread_communicator.hpp"
#include "trainers.hpp"

namespace assay {
namespace test_ranks {

using network_test::difference;
using network_test::made;
using network_test::small_settings;

constexpr int ranks_of_test = 3;

TrainerSettings settings() {
  TrainerSettings of = small_settings("native");
  of.executor.threads = 1;
  of.bucket_bytes = 20000;  // several buckets
  return of;
}

std::vector<double> gradient_of(std::uint64_t seed) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(settings(), *alone);
  load_random(*trainer, seed);
  trainer->make_gradients();
  return read_values(trainer->executor(), trainer->graph().gradients);
}

/// Ranks learn what one rank learns that adds up the gradients of all their batches.
TEST(Ranks, GradientsAreTheSumOfEachRanksOwn) {
  std::vector<double> sum = gradient_of(10);
  for (int rank = 1; rank < ranks_of_test; ++rank) {
    const std::vector<double> more = gradient_of(10 + static_cast<std::uint64_t>(rank));
    EXPECT_GT(difference(more, sum), 0.1);  // a test of something
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  }
  std::vector<std::vector<double>> gradients(ranks_of_test), weights(ranks_of_test);
  testing_fakes::on_threads(ranks_of_test, [&](Communicator& ranks) {
    const auto trainer = made(settings(), ranks);
    const auto rank = static_cast<std::size_t>(ranks.rank());
    load_random(*trainer, 10 + rank);
    trainer->prepare();
    StepCheck check;
    check.verification.passed = true;
    check.gradient_sum = true;
    trainer->step(0.1, &check);
    EXPECT_TRUE(check.verification.passed) << check.verification.reason;
    EXPECT_GT(check.verification.checked, 128);
    gradients[rank] = read_values(trainer->executor(), trainer->graph().gradients);
    weights[rank] = read_values(trainer->executor(), trainer->graph().weights);
  });
  for (int rank = 0; rank < ranks_of_test; ++rank) {
    EXPECT_LT(difference(gradients[static_cast<std::size_t>(rank)], sum), 1e-6);
    EXPECT_EQ(weights[static_cast<std::size_t>(rank)], weights[0]);
  }
  // The update has the mean: w - rate (gradient / ranks + decay w), with a velocity of 0 before.
  const auto alone = make_serial_communicator();
  const auto trainer = made(settings(), *alone);
  const std::vector<double> before = read_values(trainer->executor(), trainer->graph().weights);
  const Parameter& first = trainer->graph().parameters.front();
  for (std::int64_t i = 0; i < first.elements(); ++i) {
    const auto at = static_cast<std::size_t>(first.offset + i);
    const double step = 0.1 * (sum[at] / ranks_of_test + 1e-4 * before[at]);
    EXPECT_NEAR(weights[0][at], before[at] - step, 1e-5 * std::abs(step) + 1e-7);
  }
}

std::uint64_t seed_of_pass(std::int64_t pass) { return 10 + static_cast<std::uint64_t>(pass); }

struct Learnt {
  std::vector<double> gradients, weights;
  double loss = 0;
};

/// One step of one rank that accumulates the gradients of so many batches.
Learnt accumulated(std::int64_t passes) {
  const auto alone = make_serial_communicator();
  TrainerSettings of = settings();
  of.accumulate = passes;
  const auto trainer = made(of, *alone);
  std::int64_t pass = 0;
  const auto load = [&] { load_random(*trainer, seed_of_pass(pass++)); };
  load();
  trainer->prepare();
  trainer->executor().poison();
  StepCheck check;
  check.verification.passed = true;
  for (std::size_t i = 0; i < trainer->graph().nodes.size(); ++i)
    if (trainer->graph().nodes[i].phase >= Phase::accumulate) check.nodes.insert(i);
  check.seed = 1;  // the second pass
  trainer->step(0.1, &check, load);
  EXPECT_EQ(pass, passes);
  EXPECT_TRUE(check.verification.passed) << check.verification.reason;
  EXPECT_EQ(check.nodes.size(), passes > 1 ? 2U : 1U);
  return {read_values(trainer->executor(), trainer->graph().gradients),
          read_values(trainer->executor(), trainer->graph().weights), trainer->loss()};
}

/// One rank that accumulates the batches of all: batch norm sees the same batches, so gradients,
/// and what is learnt of them, are equal to rounding.
TEST(Ranks, LearnWhatOneRankLearnsThatAccumulates) {
  const Learnt one = accumulated(ranks_of_test), fewer = accumulated(ranks_of_test - 1);
  EXPECT_GT(difference(fewer.gradients, one.gradients), 0.1);  // a test of something
  EXPECT_GT(difference(fewer.weights, one.weights), 1e-4);
  std::vector<double> losses(ranks_of_test);
  testing_fakes::on_threads(ranks_of_test, [&](Communicator& ranks) {
    const auto trainer = made(settings(), ranks);
    load_random(*trainer, seed_of_pass(ranks.rank()));
    trainer->prepare();
    trainer->step(0.1);
    EXPECT_LT(
        difference(read_values(trainer->executor(), trainer->graph().gradients), one.gradients),
        1e-6);
    EXPECT_LT(difference(read_values(trainer->executor(), trainer->graph().weights), one.weights),
              1e-6);
    losses[static_cast<std::size_t>(ranks.rank())] = trainer->loss();
  });
  EXPECT_NEAR((losses[0] + losses[1] + losses[2]) / ranks_of_test, one.loss, 1e-5);
}

/// The images are as if each rank read the same part of a set: without this test's difference, the
/// one above would show nothing.
TEST(Ranks, OneRanksWrongImagesChangeTheGradients) {
  const Learnt right = accumulated(ranks_of_test);
  testing_fakes::on_threads(ranks_of_test, [&](Communicator& ranks) {
    const auto trainer = made(settings(), ranks);
    load_random(*trainer, seed_of_pass(ranks.rank() == 2 ? 0 : ranks.rank()));
    trainer->prepare();
    trainer->step(0.1);
    EXPECT_GT(
        difference(read_values(trainer->executor(), trainer->graph().gradients), right.gradients),
        0.1);
    EXPECT_GT(difference(read_values(trainer->executor(), trainer->graph().weights), right.weights),
              1e-4);
  });
}

/// Both are combined: two ranks, each of two batches, as one rank of four.
TEST(Ranks, AccumulateToo) {
  const Learnt one = accumulated(4);
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    TrainerSettings of = settings();
    of.accumulate = 2;
    const auto trainer = made(of, ranks);
    load_random(*trainer, seed_of_pass(2 * ranks.rank()));
    trainer->prepare();
    StepCheck check;
    check.verification.passed = true;
    check.gradient_sum = true;
    trainer->step(0.1, &check, [&] { load_random(*trainer, seed_of_pass(2 * ranks.rank() + 1)); });
    EXPECT_TRUE(check.verification.passed) << check.verification.reason;
    EXPECT_GT(check.verification.checked, 63);
    EXPECT_LT(
        difference(read_values(trainer->executor(), trainer->graph().gradients), one.gradients),
        1e-6);
    EXPECT_LT(difference(read_values(trainer->executor(), trainer->graph().weights), one.weights),
              1e-6);
  });
}

/// A started sum is never made: each rank keeps its own gradients.
class NotAdding final : public Communicator {
 public:
  explicit NotAdding(Communicator& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  int node() const override { return inner_.node(); }
  int nodes() const override { return inner_.nodes(); }
  std::string host() const override { return inner_.host(); }
  std::unique_ptr<Communicator> split(int color, int key) override {
    return inner_.split(color, key);
  }
  std::string why_not(const Call& call) const override { return inner_.why_not(call); }
  void prepare(const Call& call) override { inner_.prepare(call); }
  void run(const Call& call, Stream& stream) override { inner_.run(call, stream); }
  Request start(const Call&, Stream&) override { return {}; }
  Request send(Buffer data, int to, int tag, Stream& stream) override {
    return inner_.send(data, to, tag, stream);
  }
  Request receive(Buffer data, int from, int tag, Stream& stream) override {
    return inner_.receive(data, from, tag, stream);
  }
  void wait(Request&) override {}
  bool done(Request&) override { return true; }
  void abort(const std::string& why, ExitCode code) override { inner_.abort(why, code); }
  void barrier() override { inner_.barrier(); }
  void allreduce_max(std::span<double> values) override { inner_.allreduce_max(values); }
  double broadcast(double value) override { return inner_.broadcast(value); }
  std::vector<std::string> allgather(const std::string& text) override {
    return inner_.allgather(text);
  }

 private:
  Communicator& inner_;
};

TEST(Ranks, ASumThatIsNotMadeIsFound) {
  gradient_of(10);  // libraries and plugins begin in one thread; a process has one rank elsewhere
  testing_fakes::on_threads(2, [&](Communicator& inner) {
    NotAdding ranks(inner);
    const auto trainer = made(settings(), ranks);
    load_random(*trainer, 10 + static_cast<std::uint64_t>(ranks.rank()));
    trainer->prepare();
    StepCheck check;
    check.verification.passed = true;
    check.gradient_sum = true;
    trainer->step(0.1, &check);
    EXPECT_FALSE(check.verification.passed);
    EXPECT_NE(check.verification.reason.find("of the sum of gradients"), std::string::npos);
  });
}

}  // namespace test_ranks
}  // namespace assay
