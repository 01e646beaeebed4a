// A victim beside an aggressor: both are checked, and latencies are told alone and beside.

#include "comm/beside.hpp"

#include <gtest/gtest.h>

#include "core/measure/timing.hpp"
#include "tests/comm/collective_bench.hpp"

namespace assay {
namespace test_beside {

using testing_fakes::on_threads;
using testing_fakes::SpoilingCommunicator;

CollectiveShape four_beside() {
  CollectiveShape shape;
  shape.ranks = 4;
  shape.bytes = 64;
  shape.beside = 4096;
  return shape;
}

/// Gives halves whose calls of one rank of all are spoiled in their last bit.
class SpoiledHalves final : public ForwardingCommunicator {
 public:
  SpoiledHalves(Communicator& under, int victim) : ForwardingCommunicator(under), victim_(victim) {}
  std::unique_ptr<Communicator> split(int color, int key) override {
    half_ = under().split(color, key);
    return std::make_unique<SpoilingCommunicator>(*half_, [this](const Call& call) {
      if (rank() == victim_)
        static_cast<unsigned char*>(call.receive.data)[call.receive.bytes() - 1] ^= 1;
    });
  }

 private:
  int victim_;
  std::unique_ptr<Communicator> half_;
};

TEST(Beside, BothHalvesAreCheckedAndTimed) {
  on_threads(4, [&](Communicator& here) {
    HostDevice device;
    OperationSetup setup;
    setup.rank = here.rank();
    const CollectiveProblem problem(four_beside());
    EXPECT_TRUE(problem.amounts().empty());
    const auto workload =
        make_beside_workload(problem, std::make_unique<ForwardingCommunicator>(here),
                             {"library", "threads"}, device, 0, setup);
    const Verification before = workload->verify_before();
    EXPECT_TRUE(before.passed) << before.reason;
    EXPECT_EQ(before.checked, here.rank() % 2 == 0 ? 16 : 1024);
    TimingOptions options;
    options.max_time = 0.001;
    EXPECT_TRUE(measure(*workload, here, options).audits.passed);
    EXPECT_TRUE(workload->verify_after().passed);
    const auto metrics = workload->metrics();
    EXPECT_GE(metrics.at("alltoalls_of_a_run").value, 1);
    for (const std::string part : {"alone", "beside"}) {
      EXPECT_GT(metrics.at(part + "_median_s").value, 0);
      EXPECT_GE(metrics.at(part + "_p99_s").value, metrics.at(part + "_median_s").value);
    }
  });
}

TEST(Beside, OneWrongBitOfEitherIsIncorrect) {
  for (const int victim : {0, 1, 2, 3})
    on_threads(4, [&](Communicator& here) {
      HostDevice device;
      OperationSetup setup;
      setup.rank = here.rank();
      const auto workload = make_beside_workload(CollectiveProblem(four_beside()),
                                                 std::make_unique<SpoiledHalves>(here, victim),
                                                 {"library", "threads"}, device, 0, setup);
      EXPECT_EQ(workload->verify_before().passed, here.rank() != victim);
    });
}

TEST(Beside, RefusesWhatItCannot) {
  CollectiveShape shape = four_beside();
  on_threads(2, [&](Communicator& here) {
    EXPECT_NE(why_not_beside(CollectiveProblem(shape), here), "");
  });
  on_threads(4, [&](Communicator& here) {
    EXPECT_EQ(why_not_beside(CollectiveProblem(shape), here), "");
    CollectiveShape other = shape;
    other.pattern = Pattern::broadcast;
    EXPECT_NE(why_not_beside(CollectiveProblem(other), here), "");
  });
}

}  // namespace test_beside
}  // namespace assay
