#pragma once
// Tables of random numbers that are functions of (seed, row, column): any rank generates any rows,
// and all have the same data. What is planted in them is known, so that a program that looks for
// it can be verified.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "datasets/normals.hpp"
#include "datasets/table.hpp"

namespace assay {

struct SyntheticSize {
  std::int64_t rows = 0, features = 0;
  std::uint64_t seed = 0;
};

/// What the synthetic tables share. Their constructors throw InputError: rows below 1, features
/// below 1 or above 2^20, or more bytes than 64 bits count.
class SyntheticTable : public Table {
 public:
  std::int64_t rows() const final { return size_.rows; }
  std::int64_t features() const final { return size_.features; }
  std::string canonical() const final { return canonical_; }
  std::uint64_t seed() const { return size_.seed; }

 protected:
  /// `parameters` follow the rows and features in the canonical name.
  SyntheticTable(const std::string& kind, const SyntheticSize& size,
                 const std::string& parameters = "");
  /// Standard normal numbers of the rows.
  void fill_normal(std::int64_t first, std::int64_t count, double* x) const;

 private:
  SyntheticSize size_;
  std::string canonical_;
};

/// Standard normal numbers: CORAL-2's data of PCA.
class NormalTable final : public SyntheticTable {
 public:
  explicit NormalTable(const SyntheticSize& size) : SyntheticTable("normal", size) {}
  bool has_labels() const override { return false; }

 private:
  void read_rows(std::int64_t first, std::int64_t count, double* x, double*) const override;
};

/// Normal numbers of a planted covariance: a row is mean + H diag(sigma) z, where z is standard
/// normal, sigma falls geometrically from 1 to 1 / sqrt(condition), and the orthogonal H is the
/// product of two Householder reflections of random directions, so that a row costs O(features).
class SpectrumTable final : public SyntheticTable {
 public:
  /// InputError: condition below 1 or not finite.
  SpectrumTable(const SyntheticSize& size, double condition);
  bool has_labels() const override { return false; }

  /// Of the covariance, descending: sigma squared, from 1 to 1 / condition.
  const std::vector<double>& eigenvalues() const { return eigenvalues_; }
  /// H[features * features], row-major: column j is the unit eigenvector of eigenvalue j.
  std::vector<double> eigenvectors() const;
  /// [features]
  const std::vector<double>& mean() const { return mean_; }

 private:
  void read_rows(std::int64_t first, std::int64_t count, double* x, double*) const override;
  std::vector<double> eigenvalues_, sigma_, mean_;
  std::vector<double> inner_, outer_;  ///< unit vectors of the reflections: H = outer inner
};

/// Rows around planted centres, with standard deviation 1 in every direction. The centre of a row
/// is random, all are equally likely.
class MixtureTable : public SyntheticTable {
 public:
  bool has_labels() const final { return true; }
  /// [number of centres * features], row-major
  const std::vector<double>& centres() const { return centres_; }

 protected:
  using SyntheticTable::SyntheticTable;
  std::vector<double> centres_;  ///< the constructors of derived classes fill both
  std::vector<double> labels_;   ///< of each centre

 private:
  void read_rows(std::int64_t first, std::int64_t count, double* x, double* labels) const final;
};

/// The label of a row is the index of its centre, from 0.
class ClusterTable final : public MixtureTable {
 public:
  /// Random centres, the nearest two of which are `separation` standard deviations apart.
  /// InputError: clusters below 1 or above 2^12, separation negative or not finite.
  ClusterTable(const SyntheticSize& size, std::int64_t clusters, double separation = 10);
  /// CORAL-2's data of K-means: three centres, of 0, 2 and 10 in all features.
  static std::unique_ptr<ClusterTable> coral(const SyntheticSize& size);
  std::int64_t clusters() const { return std::ssize(labels_); }

 private:
  ClusterTable(const SyntheticSize& size, std::span<const double> centres_in_all_features);
};

/// Two classes with labels -1 and +1, whose centres are in this order.
class ClassTable final : public MixtureTable {
 public:
  /// The centres are -+distance / 2 along a random direction. The best classifier, the plane midway
  /// between them, is wrong with probability Phi(-distance / 2) = bayes_error.
  /// InputError: bayes_error not in (0, 0.5).
  explicit ClassTable(const SyntheticSize& size, double bayes_error = 0.10);
  /// CORAL-2's data of SVM: centres of 0 (label -1) and 2 (label +1) in all features, 31 standard
  /// deviations apart in 250 features.
  static std::unique_ptr<ClassTable> coral(const SyntheticSize& size);
  double bayes_error() const { return bayes_error_; }

 private:
  struct Coral {};
  ClassTable(const SyntheticSize& size, Coral);
  double bayes_error_;
};

}  // namespace assay
