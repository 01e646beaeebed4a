#pragma once
// Tables of random numbers that are functions of (seed, row, column): any rank can generate any
// rows, and all ranks have the same data. Their structure (eigenvectors, centres, classes) is
// known, so a program that searches for it can be verified.

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

/// The common part of the synthetic tables. Their constructors throw InputError for no rows, no
/// features, more than 2^20 features, or a size in bytes that exceeds 64 bits.
class SyntheticTable : public DataTable {
 public:
  std::int64_t rows() const final { return size_.rows; }
  std::int64_t features() const final { return size_.features; }
  std::string canonical() const final { return canonical_; }
  std::uint64_t seed() const { return size_.seed; }

 protected:
  /// `parameters` follow the rows and features in the canonical name.
  SyntheticTable(const std::string& kind, const SyntheticSize& size,
                 const std::string& parameters = "");
  /// Fills x with standard normal numbers.
  void fill_normal(std::int64_t first, std::int64_t count, double* x) const;

 private:
  SyntheticSize size_;
  std::string canonical_;
};

/// Standard normal numbers, the data of CORAL-2's PCA.
class NormalTable final : public SyntheticTable {
 public:
  explicit NormalTable(const SyntheticSize& size) : SyntheticTable("normal", size) {}
  bool has_labels() const override { return false; }

 private:
  void read_rows(std::int64_t first, std::int64_t count, double* x, double*) const override;
};

/// Normal numbers with a known covariance: a row is mean + H diag(sigma) z, where z is standard
/// normal, sigma falls geometrically from 1 to 1 / sqrt(condition), and the orthogonal H is the
/// product of two Householder reflections of random directions, so that a row costs O(features).
class SpectrumTable final : public SyntheticTable {
 public:
  /// InputError if condition is below 1 or not finite.
  SpectrumTable(const SyntheticSize& size, double condition);
  bool has_labels() const override { return false; }

  /// Eigenvalues of the covariance, descending: sigma squared, from 1 to 1 / condition.
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

/// Rows around known centres, with standard deviation 1 in every direction. Each row has a random
/// centre; all centres are equally likely.
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
  /// InputError if clusters are below 1 or above 2^12, or separation is negative or not finite.
  ClusterTable(const SyntheticSize& size, std::int64_t clusters, double separation = 10);
  /// The data of CORAL-2's K-means: three centres, whose features are all 0, all 2 and all 10.
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
  /// InputError if bayes_error is not in (0, 0.5).
  explicit ClassTable(const SyntheticSize& size, double bayes_error = 0.10);
  /// The data of CORAL-2's SVM: centres whose features are all 0 (label -1) and all 2 (label +1);
  /// with 250 features they are 31 standard deviations apart.
  static std::unique_ptr<ClassTable> coral(const SyntheticSize& size);
  double bayes_error() const { return bayes_error_; }

 private:
  struct Coral {};
  ClassTable(const SyntheticSize& size, Coral);
  double bayes_error_;
};

}  // namespace assay
