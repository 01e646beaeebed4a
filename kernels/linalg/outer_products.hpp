#pragma once
// Sums of the outer products of the rows of a table, in fp64: single elements of the sum, and the
// weighted sum of all its elements.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/oracle/sums.hpp"

namespace assay::linalg {

/// Largest magnitude of integer inputs, so that sums of many products stay exact.
constexpr double largest_entry = 16;
/// Largest factor of a checksum's weights (core/api/checksum_weights.hpp).
constexpr double largest_weight = 8;

/// A table whose rows are computed when they are read. Several threads read it.
class Table {
 public:
  Table(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {}
  virtual ~Table() = default;
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  /// True if the sums include this row.
  virtual bool has(std::int64_t) const { return true; }
  virtual void fill(std::int64_t row, std::span<double> out) const = 0;
  virtual double at(std::int64_t row, std::int64_t column) const = 0;

 private:
  std::int64_t rows_, columns_;
};

/// Elements of the sum of outer products: for each index of the row-major [columns, columns]
/// matrix, the sum of the products of its two columns. `compensated`: with twice the precision of
/// fp64.
std::vector<sums::Terms> outer_products(const Table& table, std::span<const std::int64_t> indices,
                                        bool compensated);

/// u^T (sum of outer products) v, computed as the sum of (row . u) (row . v) over all rows.
double sum_outer_products(const Table& table, const std::vector<double>& u,
                          const std::vector<double>& v);

/// Oracle::sample of a symmetric [d, d] matrix of sums over n observations.
std::vector<std::int64_t> outer_sample(std::int64_t d, std::int64_t n, double budget,
                                       std::uint64_t seed);

}  // namespace assay::linalg
