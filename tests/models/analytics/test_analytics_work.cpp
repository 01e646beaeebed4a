// The work that analyses count while they run is that which the problem of their case names.

#include <gtest/gtest.h>

#include <cmath>

#include "analytics_fixture.hpp"
#include "models/kmeans/benchmark.hpp"
#include "models/pca/benchmark.hpp"
#include "models/svm/benchmark.hpp"

namespace assay {
namespace test_analytics_work {

void expect_counted(const Benchmark& benchmark, fixture::Flags flags) {
  flags.try_emplace("problem", "n4999d13");
  for (const char* name : {"native", "blas", "reference"}) (void)fixture::plugins().open(name);
  for (const int ranks : {1, 3}) {
    const Case selected = fixture::one_case(benchmark, flags, ranks);
    const auto amounts = benchmark.problem(selected)->amounts();
    testing_fakes::on_threads(ranks, [&](Communicator& communicator) {
      CaseContext context{fixture::plugins(), communicator};
      auto made = benchmark.prepare(selected, context);
      Workload& workload = *std::get<std::unique_ptr<Workload>>(made);
      EXPECT_TRUE(workload.verify_before().passed);
      (void)workload.take_done();
      for (const double runs : {1, 3}) {
        for (int i = 0; i < runs; ++i) workload.run(workload.stream());
        const auto done = workload.take_done();
        for (const auto& [name, amount] : amounts)
          EXPECT_NEAR(done.at(name) / runs / amount, 1, 1e-9) << selected.id << " " << name;
      }
      for (const auto& [name, amount] : workload.take_done()) EXPECT_EQ(amount, 0) << name;
    });
  }
}

TEST(AnalysisWork, IsThatOfTheCase) {
  for (const char* precision : {"fp64", "fp32"}) {
    expect_counted(kmeans_benchmark(), {{"precision", precision}});
    expect_counted(kmeans_benchmark(), {{"precision", precision}, {"clusters", "2+3+4"}});
    expect_counted(kmeans_benchmark(), {{"precision", precision}, {"until_moved", "0.01"}});
    expect_counted(pca_benchmark(), {{"precision", precision}});
    expect_counted(pca_benchmark(), {{"precision", precision}, {"algorithm", "tsqr"}});
    expect_counted(svm_benchmark(), {{"precision", precision}});
    expect_counted(svm_benchmark(), {{"precision", precision}, {"algorithm", "nelder_mead"}});
  }
}

}  // namespace test_analytics_work
}  // namespace assay
