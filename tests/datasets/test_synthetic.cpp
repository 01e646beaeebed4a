#include "datasets/synthetic.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>

#include "core/base/error.hpp"

namespace assay {
namespace test_synthetic {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

struct Data {
  Matrix x;
  std::vector<double> labels;
};

Data all_of(const DataTable& table) {
  Data data{Matrix(table.rows(), table.features()), {}};
  if (table.has_labels()) data.labels.resize(static_cast<std::size_t>(table.rows()));
  table.read(0, {data.x.data(), static_cast<std::size_t>(data.x.size())}, data.labels);
  return data;
}

Matrix covariance_about(const Matrix& x, const Vector& mean) {
  const Matrix centred = x.rowwise() - mean.transpose();
  return centred.transpose() * centred / static_cast<double>(x.rows());
}

Eigen::Map<const Matrix> rows_of(const std::vector<double>& values, std::int64_t columns) {
  return {values.data(), std::ssize(values) / columns, columns};
}

std::vector<std::unique_ptr<DataTable>> one_of_each(const SyntheticSize& size) {
  std::vector<std::unique_ptr<DataTable>> tables;
  tables.push_back(std::make_unique<NormalTable>(size));
  tables.push_back(std::make_unique<SpectrumTable>(size, 1e4));
  tables.push_back(std::make_unique<ClusterTable>(size, 5));
  tables.push_back(ClusterTable::coral(size));
  tables.push_back(std::make_unique<ClassTable>(size));
  tables.push_back(ClassTable::coral(size));
  return tables;
}

TEST(Synthetic, AnySplitOfReadsGivesTheSameValues) {
  for (const std::int64_t features : {1, 10, 13}) {
    for (const auto& table : one_of_each({1000, features, 11})) {
      const Data whole = all_of(*table);
      for (const int threads : {1, 2, 3, 7}) {
        Matrix x(990, features);
        std::vector<double> labels(table->has_labels() ? 990 : 0);
        read_parallel(*table, 5, {x.data(), static_cast<std::size_t>(x.size())}, labels, threads);
        EXPECT_EQ(x, whole.x.middleRows(5, 990)) << table->canonical();
        EXPECT_TRUE(std::equal(labels.begin(), labels.end(),
                               whole.labels.begin() + (labels.empty() ? 0 : 5)));
      }
      std::vector<double> row(static_cast<std::size_t>(features));
      for (const std::int64_t i : {0, 1, 499, 999}) {
        table->read(i, row);
        EXPECT_EQ(rows_of(row, features), whole.x.row(i)) << table->canonical();
      }
    }
  }
}

TEST(Synthetic, RowsDoNotDependOnTheNumberOfRows) {
  const auto few = one_of_each({10, 6, 1}), many = one_of_each({100, 6, 1}),
             other_seed = one_of_each({10, 6, 2});
  for (std::size_t i = 0; i < few.size(); ++i) {
    const Data data = all_of(*few[i]);
    EXPECT_EQ(data.x, all_of(*many[i]).x.topRows(10));
    EXPECT_NE(data.x, all_of(*other_seed[i]).x);
  }
}

TEST(Synthetic, NamesStateEveryParameter) {
  std::vector<std::string> names;
  for (const auto& table : one_of_each({12, 3, 7})) names.push_back(table->canonical());
  EXPECT_EQ(names,
            (std::vector<std::string>{"normal:n12d3seed7", "spectrum:n12d3cond10000seed7",
                                      "clusters:n12d3k5sep10seed7", "clusters-coral:n12d3seed7",
                                      "classes:n12d3bayes0.1seed7", "classes-coral:n12d3seed7"}));
}

TEST(Synthetic, MistakesOfTheCallerAreFound) {
  const ClusterTable clusters({10, 3, 1}, 2);
  const NormalTable normal({10, 3, 1});
  std::vector<double> x(6), labels(2), one(1), odd(5);
  EXPECT_THROW(clusters.read(0, odd), std::invalid_argument);
  EXPECT_THROW(clusters.read(0, x, one), std::invalid_argument);
  EXPECT_THROW(normal.read(0, x, labels), std::invalid_argument);
  EXPECT_THROW(normal.read(-1, x), std::out_of_range);
  EXPECT_THROW(normal.read(9, x), std::out_of_range);
  EXPECT_THROW(read_parallel(normal, 9, x, {}, 2), std::out_of_range);
  normal.read(8, x);
  normal.read(10, {});
}

TEST(Synthetic, WhatCannotBeGeneratedIsRefused) {
  const SyntheticSize size{10, 3, 1};
  const std::function<void()> wrong[] = {
      [] {
        NormalTable({0, 3, 1});
      },
      [] {
        NormalTable({-1, 3, 1});
      },
      [] {
        NormalTable({10, 0, 1});
      },
      [] {
        NormalTable({10, (1 << 20) + 1, 1});
      },
      [] {
        NormalTable({std::int64_t{1} << 59, 2, 1});
      },
      [&] { SpectrumTable(size, 0.5); },
      [&] { SpectrumTable(size, std::nan("")); },
      [&] { SpectrumTable(size, HUGE_VAL); },
      [&] { ClusterTable(size, 0); },
      [&] { ClusterTable(size, (1 << 12) + 1); },
      [&] { ClusterTable(size, 2, -1); },
      [&] { ClusterTable(size, 2, std::nan("")); },
      [&] { ClassTable(size, 0); },
      [&] { ClassTable(size, 0.5); },
      [&] { ClassTable(size, std::nan("")); },
  };
  for (const auto& make : wrong) EXPECT_THROW(make(), InputError);
}

/// The elements of x^T x / n of normal rows have the covariances of Wishart's distribution, so in
/// the planted eigenvectors, scaled by the planted deviations, each differs from the identity by
/// sqrt(2 / n) at most (1 sd). This holds for small eigenvalues, too.
TEST(Spectrum, TheCovarianceIsThePlantedOne) {
  const std::int64_t d = 12;
  const double n = 200000;
  const SpectrumTable table({static_cast<std::int64_t>(n), d, 5}, 1e10);
  const Data data = all_of(table);
  const auto mean = rows_of(table.mean(), d).row(0).transpose();
  const auto h_values = table.eigenvectors();
  const auto h = rows_of(h_values, d);
  EXPECT_LT((h.transpose() * h - Matrix::Identity(d, d)).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_GT((h - Matrix::Identity(d, d)).cwiseAbs().maxCoeff(), 0.1);

  Matrix z = (data.x.rowwise() - mean.transpose()) * h;
  for (std::int64_t j = 0; j < d; ++j)
    z.col(j) /= std::sqrt(table.eigenvalues()[static_cast<std::size_t>(j)]);
  EXPECT_LT(z.colwise().mean().cwiseAbs().maxCoeff(), 5 / std::sqrt(n));
  const Matrix error = covariance_about(z, Vector::Zero(d)) - Matrix::Identity(d, d);
  EXPECT_LT(error.cwiseAbs().maxCoeff(), 5 * std::sqrt(2 / n));
  EXPECT_GT(mean.norm(), 1);
}

TEST(Spectrum, EigenvaluesFallGeometricallyFromOne) {
  const SpectrumTable table({10, 3, 5}, 1e4);
  const auto& values = table.eigenvalues();
  EXPECT_DOUBLE_EQ(values[0], 1);
  EXPECT_DOUBLE_EQ(values[1], 1e-2);
  EXPECT_DOUBLE_EQ(values[2], 1e-4);
  EXPECT_EQ(SpectrumTable({10, 1, 5}, 1e4).eigenvalues(), std::vector<double>{1});
}

/// Rows less their centres are standard normal, and all labels are equally frequent.
void expect_mixture(const MixtureTable& table, const std::vector<double>& labels) {
  Data data = all_of(table);
  const std::int64_t d = table.features(), k = std::ssize(labels);
  const auto centres = rows_of(table.centres(), d);
  ASSERT_EQ(centres.rows(), k);
  std::vector<double> counts(labels.size());
  for (std::int64_t i = 0; i < table.rows(); ++i) {
    const auto found =
        std::find(labels.begin(), labels.end(), data.labels[static_cast<std::size_t>(i)]) -
        labels.begin();
    ASSERT_LT(found, k) << "label " << data.labels[static_cast<std::size_t>(i)];
    data.x.row(i) -= centres.row(found);
    ++counts[static_cast<std::size_t>(found)];
  }
  const auto n = static_cast<double>(table.rows()), part = 1 / static_cast<double>(k);
  for (const double count : counts)
    EXPECT_NEAR(count, n * part, 5 * std::sqrt(n * part * (1 - part))) << table.canonical();
  const Matrix error = covariance_about(data.x, Vector::Zero(d)) - Matrix::Identity(d, d);
  EXPECT_LT(error.cwiseAbs().maxCoeff(), 5 * std::sqrt(2 / n)) << table.canonical();
}

TEST(Clusters, AreNormalAroundTheirCentres) {
  const SyntheticSize size{100000, 8, 3};
  expect_mixture(ClusterTable(size, 4), {0, 1, 2, 3});
  expect_mixture(ClusterTable(size, 1), {0});
  expect_mixture(*ClusterTable::coral(size), {0, 1, 2});
}

TEST(Clusters, TheNearestCentresAreApartAsAskedFor) {
  for (const std::int64_t features : {1, 2, 30}) {
    const ClusterTable table({10, features, 3}, 6, 7.5);
    const auto centres = rows_of(table.centres(), features);
    double least = HUGE_VAL;
    for (std::int64_t a = 0; a < 6; ++a)
      for (std::int64_t b = 0; b < a; ++b)
        least = std::min(least, (centres.row(a) - centres.row(b)).norm());
    EXPECT_NEAR(least, 7.5, 1e-12);
  }
  EXPECT_EQ(ClusterTable::coral({10, 2, 3})->centres(), (std::vector<double>{0, 0, 2, 2, 10, 10}));
}

TEST(Classes, AreNormalAroundTheirCentres) {
  const SyntheticSize size{100000, 8, 3};
  expect_mixture(ClassTable(size), {-1, 1});
  expect_mixture(*ClassTable::coral(size), {-1, 1});
  EXPECT_EQ(ClassTable::coral({10, 2, 3})->centres(), (std::vector<double>{0, 0, 2, 2}));
}

TEST(Classes, TheBestPlaneHasTheBayesError) {
  const std::int64_t d = 20;
  const double n = 100000;
  for (const double bayes : {0.10, 0.02, 0.4}) {
    const ClassTable table({static_cast<std::int64_t>(n), d, 9}, bayes);
    EXPECT_EQ(table.bayes_error(), bayes);
    const Data data = all_of(table);
    const auto centres = rows_of(table.centres(), d);
    const Vector direction = (centres.row(1) - centres.row(0)).transpose();
    const Vector middle = (centres.row(1) + centres.row(0)).transpose() / 2;
    const Vector side = (data.x.rowwise() - middle.transpose()) * direction;
    double wrong = 0;
    for (std::int64_t i = 0; i < table.rows(); ++i)
      wrong += (side[i] > 0 ? 1 : -1) != data.labels[static_cast<std::size_t>(i)];
    EXPECT_NEAR(wrong / n, bayes, 5 * std::sqrt(bayes * (1 - bayes) / n));
  }
  EXPECT_NEAR(ClassTable::coral({10, 4, 1})->bayes_error(), 0.0227501319, 1e-10);  // Phi(-2)
}

}  // namespace test_synthetic
}  // namespace assay
