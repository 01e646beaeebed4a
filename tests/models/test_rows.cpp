#include "models/rows.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <stdexcept>

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

/// Rows of ones.
class Ones final : public Table {
 public:
  Ones(std::int64_t rows, std::int64_t features) : rows_(rows), features_(features) {}
  std::int64_t rows() const override { return rows_; }
  std::int64_t features() const override { return features_; }
  bool has_labels() const override { return false; }
  std::string canonical() const override { return "ones"; }

 private:
  void read_rows(std::int64_t, std::int64_t count, double* x, double*) const override {
    std::fill_n(x, count * features_, 1.0);
  }
  std::int64_t rows_, features_;
};

TEST(SumsOverRows, ReadFewLongRowsAtOnce) {
  for (const std::int64_t features : {3, 5000, 3000000}) {
    const std::int64_t rows = features > 5000 ? 3 : 700;
    const Ones table(rows, features);
    std::int64_t most = 0;  // rows of a block
    const std::vector<double> sums =
        sums_over_rows(table, {{0, rows}, DataType::fp64, false, 1}, 1,
                       [&](std::int64_t, std::span<const double> x, std::span<const double>,
                           std::span<double> sum) {
                         most = std::max<std::int64_t>(most, std::ssize(x) / features);
                         sum[0] += x[0] * static_cast<double>(std::ssize(x));
                       });
    EXPECT_EQ(sums[0], static_cast<double>(rows * features));
    EXPECT_TRUE(most == 1 || 8 * most * features <= 8 << 20) << most << " of " << features;
    EXPECT_LE(8.0 * static_cast<double>(most * features), bytes_of_pass(rows, features, 1, 1));
  }
}

TEST(SumsOverRows, WhatCannotBeAllocatedIsAnExceptionOfTheCaller) {
  const Ones table(4, std::int64_t{1} << 60);  // beyond the size of any vector
  EXPECT_THROW(sums_over_rows(table, {{0, 4}, DataType::fp64, false, 2}, 1,
                              [](std::int64_t, std::span<const double>, std::span<const double>,
                                 std::span<double>) {}),
               std::length_error);
}

}  // namespace
}  // namespace assay
