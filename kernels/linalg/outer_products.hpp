#pragma once
// Sums of outer products of the rows of a table, in fp64: single elements, and a weighted sum of
// all.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/conv/sums.hpp"

namespace assay::linalg {

/// Largest magnitude of integers that are multiplied: sums of many products stay exact.
constexpr double largest_entry = 16;
/// Largest factor of a checksum's weights (core/api/checksum_weights.hpp).
constexpr double largest_weight = 8;

/// Rows that are made when they are read, from several threads.
class Table {
 public:
  Table(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {}
  virtual ~Table() = default;
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  /// Whether the row is a part of the sums.
  virtual bool has(std::int64_t) const { return true; }
  virtual void fill(std::int64_t row, std::span<double> out) const = 0;
  virtual double at(std::int64_t row, std::int64_t column) const = 0;

 private:
  std::int64_t rows_, columns_;
};

/// The sums of the products of two columns, for each index of the [columns, columns] matrix.
/// `compensated`: in twice the precision of fp64.
std::vector<sums::Terms> outer_products(const Table& table, std::span<const std::int64_t> indices,
                                        bool compensated);

/// u^T (sum of outer products) v, as the sum of (row . u) (row . v): no element is ever computed.
double weighted_outer_products(const Table& table, const std::vector<double>& u,
                               const std::vector<double>& v);

/// Which elements of a symmetric [d, d] matrix of sums over n observations are compared.
std::vector<std::int64_t> outer_sample(std::int64_t d, std::int64_t n, double budget,
                                       std::uint64_t seed);

}  // namespace assay::linalg
