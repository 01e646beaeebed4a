#include "models/rows.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include "datasets/synthetic.hpp"

namespace assay {
namespace {

TEST(SumsOverRows, UseAsManyThreadsAsThePassHas) {
  const NormalTable table({2000, 3, 1});
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  for (const int threads : {1, 2}) {
    const std::vector<double> sums = sums_over_rows(
        table, {{0, 2000}, DataType::fp64, false, threads}, 1,
        [](std::int64_t, std::span<const double>, std::span<const double>, std::span<double> sum) {
          sum[0] += omp_get_max_threads() - 1;  // what Eigen would start in addition
        });
    EXPECT_EQ(sums[0], 0) << threads;
    EXPECT_EQ(sums[1], 2000) << threads;
    EXPECT_EQ(omp_get_max_threads(), 3) << threads;
  }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace assay
