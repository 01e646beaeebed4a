// Analyses over a communicator that loses sums: what only part of the ranks added to is no result.
#include <gtest/gtest.h>

#include "analytics_fixture.hpp"
#include "comm/forwarding.hpp"
#include "models/kmeans/benchmark.hpp"
#include "models/pca/benchmark.hpp"
#include "models/ranks.hpp"
#include "models/svm/benchmark.hpp"

namespace assay {
namespace test_broken_ranks {

/// Every allreduce of more than `least` elements leaves each rank with its own numbers.
class LosesSums final : public ForwardingCommunicator {
 public:
  LosesSums(Communicator& under, std::int64_t least)
      : ForwardingCommunicator(under), least_(least) {}
  void run(const Call& call, Stream& stream) override {
    if (call.what != Collective::allreduce || call.send.count < least_)
      ForwardingCommunicator::run(call, stream);
  }

 private:
  std::int64_t least_;
};

/// The reason why rank 0's first verification fails.
std::string failure(const Benchmark& benchmark, const fixture::Flags& flags, std::int64_t least) {
  const Case selected = fixture::one_case(benchmark, flags, 2);
  for (const char* name : {"blas", "reference"}) (void)fixture::plugins().open(name);
  std::string reason;
  testing_fakes::on_threads(2, [&](Communicator& communicator) {
    LosesSums broken(communicator, least);
    CaseContext context{fixture::plugins(), broken};
    Result<std::unique_ptr<Workload>> made = benchmark.prepare(selected, context);
    const Verification checked = std::get<std::unique_ptr<Workload>>(made)->verify_before();
    if (communicator.rank() == 0) reason = checked.passed ? "passed" : checked.reason;
  });
  return reason;
}

const fixture::Flags pca{{"problem", "n300d12"}, {"backend", "reference"}},
    kmeans{{"problem", "n300d12"}, {"backend", "reference"}, {"data", "normal"}},
    svm{{"problem", "n300d12"}, {"backend", "reference"}};

TEST(BrokenRanks, WithoutAFaultAllIsRight) {
  const std::int64_t none = std::int64_t{1} << 40;
  EXPECT_EQ(failure(pca_benchmark(), pca, none), "passed");
  EXPECT_EQ(failure(kmeans_benchmark(), kmeans, none), "passed");
  EXPECT_EQ(failure(svm_benchmark(), svm, none), "passed");
}

TEST(BrokenRanks, NoSumAtAllMissesRows) {
  EXPECT_TRUE(failure(pca_benchmark(), pca, 0).starts_with("rows"));
  EXPECT_TRUE(failure(kmeans_benchmark(), kmeans, 0).starts_with("rows"));
  EXPECT_TRUE(failure(svm_benchmark(), svm, 0).starts_with("rows"));
}

TEST(BrokenRanks, LostSumsOfTheAnalysisAloneAreFound) {
  // 90 elements: the packed moments of 12 features; the check sums 79.
  EXPECT_TRUE(failure(pca_benchmark(), pca, 90).starts_with("mean"));
  // 17: the losses and the direction of the objective.
  EXPECT_NE(failure(svm_benchmark(), svm, 17), "passed");
}

}  // namespace test_broken_ranks
}  // namespace assay
