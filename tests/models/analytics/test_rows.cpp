#include "models/analytics/rows.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <numeric>
#include <stdexcept>

#include "core/api/host_device.hpp"
#include "core/api/operation.hpp"
#include "datasets/synthetic.hpp"
#include "models/kmeans/kmeans.hpp"
#include "models/svm/svm.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_rows {

TEST(SumsOverRows, UseAsManyThreadsAsThePassHas) {
  const NormalTable table({2000, 3, 1});
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  for (const int threads : {1, 2}) {
    const std::vector<double> sums = sums_over_rows(
        table, {{0, 2000}, DataType::fp64, false, threads}, 1,
        [](std::int64_t, std::span<const double>, std::span<const double>, std::span<double> sum) {
          sum[0] += omp_get_max_threads() - 1;  // threads that Eigen would start in addition
        });
    EXPECT_EQ(sums[0], 0) << threads;
    EXPECT_EQ(sums[1], 2000) << threads;
    EXPECT_EQ(omp_get_max_threads(), 3) << threads;
  }
  omp_set_num_threads(before);
}

/// Rows of ones, whose labels are their numbers.
class Ones final : public DataTable {
 public:
  Ones(std::int64_t rows, std::int64_t features) : rows_(rows), features_(features) {}
  std::int64_t most_at_once() const { return most_; }
  std::int64_t rows() const override { return rows_; }
  std::int64_t features() const override { return features_; }
  bool has_labels() const override { return true; }
  std::string canonical() const override { return "ones"; }

 private:
  void read_rows(std::int64_t first, std::int64_t count, double* x, double* labels) const override {
    std::fill_n(x, count * features_, 1.0);
    if (labels != nullptr) std::iota(labels, labels + count, static_cast<double>(first));
    const std::lock_guard lock(mutex_);
    most_ = std::max(most_, count);
  }
  std::int64_t rows_, features_;
  mutable std::mutex mutex_;
  mutable std::int64_t most_ = 0;  ///< rows of a read
};

TEST(SumsOverRows, ReadFewLongRowsAtOnce) {
  for (const std::int64_t features : {3, 5000, 3000000}) {
    const std::int64_t rows = features > 5000 ? 3 : 700;
    const Ones table(rows, features);
    const std::vector<double> sums = sums_over_rows(
        table, {{0, rows}, DataType::fp64, false, 1}, 1,
        [](std::int64_t, std::span<const double> x, std::span<const double>,
           std::span<double> sum) { sum[0] += x[0] * static_cast<double>(std::ssize(x)); });
    const std::int64_t most = table.most_at_once();
    EXPECT_EQ(sums[0], static_cast<double>(rows * features));
    EXPECT_TRUE(most == 1 || 8 * most * features <= 8 << 20) << most << " of " << features;
    EXPECT_LE(8.0 * static_cast<double>(most * features), bytes_of_pass(rows, features, 1, 1));
  }
}

TEST(LoadRows, ReadsFewRowsAtOnceForTheirLabels) {
  const Ones table(3000, 1000);
  HostDevice device;
  const auto x = device.allocate(plain_tensor("x", Role::input, DataType::fp32, {3000, 1000})),
             y = device.allocate(plain_tensor("y", Role::input, DataType::fp32, {3000}));
  load_rows(table, {0, 3000}, device, *x, y.get(), 1, *make_serial_communicator());
  EXPECT_LE(8 * table.most_at_once() * 1000, 8 << 20);
  const auto* const labels = static_cast<const float*>(y->data());
  for (int row = 0; row < 3000; ++row) ASSERT_EQ(labels[row], static_cast<float>(row));
}

TEST(SumsOverRows, WhatCannotBeAllocatedIsAnExceptionOfTheCaller) {
  const Ones table(4, std::int64_t{1} << 60);  // beyond the size of any vector
  EXPECT_THROW(sums_over_rows(table, {{0, 4}, DataType::fp64, false, 2}, 1,
                              [](std::int64_t, std::span<const double>, std::span<const double>,
                                 std::span<double>) {}),
               std::length_error);
}

/// Rows of zeros, which one of the ranks has no memory to read.
class Unreadable final : public DataTable {
 public:
  explicit Unreadable(bool here) : here_(here) {}
  std::int64_t rows() const override { return 40; }
  std::int64_t features() const override { return 2; }
  bool has_labels() const override { return true; }
  std::string canonical() const override { return "unreadable"; }

 private:
  void read_rows(std::int64_t, std::int64_t count, double* x, double* labels) const override {
    if (here_) throw std::bad_alloc();
    std::fill_n(x, count * features(), 0.0);
    if (labels != nullptr) std::fill_n(labels, count, 0.0);
  }
  bool here_;
};

TEST(RowsOfRanks, WhatOneRankCannotReadIsAnErrorOfAll) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    const Unreadable table(ranks.rank() == 1);
    const RowPass mine{share_rows(40, ranks.rank(), 2), DataType::fp64, true, 1};
    RankCalls calls(ranks);
    HostDevice device;
    const auto x = device.allocate(plain_tensor("x", Role::input, DataType::fp64, {20, 2})),
               y = device.allocate(plain_tensor("y", Role::input, DataType::fp64, {20}));
    const auto add = [](std::int64_t, std::span<const double>, std::span<const double>,
                        std::span<double>) {};
    // A rank that went on alone would wait here for ever, or take another call's numbers.
    EXPECT_THROW(load_rows(table, mine.range, device, *x, y.get(), 1, ranks), CaseError);
    EXPECT_THROW(sums_over_ranks(table, mine, 1, add, calls), CaseError);
    EXPECT_THROW(expect_two_classes(table, mine, ranks), CaseError);
    for (const bool plus_plus : {false, true}) {
      KmeansSettings settings;
      settings.clusters = 2;
      settings.plus_plus = plus_plus;
      EXPECT_THROW(centroids_at(starting_rows(table, mine, settings, calls), table, mine, calls),
                   CaseError);
    }
  });
}

}  // namespace test_rows
}  // namespace assay
