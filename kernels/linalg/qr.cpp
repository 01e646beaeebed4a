// Judges whether r is the triangular factor of x: r must be upper triangular with a nonnegative
// diagonal, and r^T r = x^T x, which is tested with random vectors. Such an r is unique if x has
// full rank. The equation implies ||r v|| = ||x v||. Bounds: docs/method-linalg.md.

#include <cmath>

#include "kernels/linalg/device_sums.hpp"
#include "kernels/linalg/oracles.hpp"
#include "kernels/linalg/relation_oracle.hpp"

namespace assay::linalg {
namespace {

/// The threshold of the error over u: that of the tests of LAPACK's linear solvers, plus six
/// standard deviations of the part that grows with the extents.
double threshold(const LinalgShape& shape) {
  return 30 + 2 * std::sqrt(static_cast<double>(shape.n)) +
         2 * std::sqrt(static_cast<double>(shape.d));
}

/// Adds row . y for each of the vectors in y, which has as many rows as `row` has elements.
void add_row_times(const double* row, const double* y, std::int64_t count, double* sums) {
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t v = 0; v < vectors; ++v) sums[v] += row[j] * y[j * vectors + v];
}

/// y += row^T sums.
void add_column_times(const double* row, const double* sums, std::int64_t count, double* y) {
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t v = 0; v < vectors; ++v) y[j * vectors + v] += row[j] * sums[v];
}

class QrOracle final : public RelationOracle {
 public:
  using RelationOracle::RelationOracle;

  std::vector<Relation> relations(const Inputs& inputs, const Outputs& outputs, const Execution&,
                                  std::uint64_t seed) const override {
    const std::int64_t d = problem_.shape().d;
    const std::vector<double>& r = outputs.find("r")->second;
    const Block z = random_vectors(d, seed);
    Block error(z.size());
    double below = 0, negative = 0;
    for (std::int64_t i = 0; i < d; ++i) {
      const double* const row = &r[static_cast<std::size_t>(i * d)];
      for (std::int64_t j = 0; j < i; ++j) below += row[j] != 0;
      negative += row[i] < 0;
      double sums[vectors] = {};
      add_row_times(row + i, &z[static_cast<std::size_t>(i * vectors)], d - i, sums);
      add_column_times(row + i, sums, d - i, &error[static_cast<std::size_t>(i * vectors)]);
    }
    const auto there = subtract_gram_there(inputs, z, error);
    const double squares = there ? *there : subtract_gram(inputs.find("x")->second, z, error);
    const double u = unit_roundoff(storage(problem_.precision()));
    return {{"triangle", "number of elements of r below the diagonal that are not 0", below, 0},
            {"diagonal", "number of negative elements on the diagonal of r", negative, 0},
            {"Gram matrix", "||r^T r - x^T x||_F sqrt(d) / ||x||_F^2, by random vectors",
             norm(error) / norm(z) * static_cast<double>(d) / squares,
             threshold(problem_.shape()) * u}};
  }

  /// Rounding x to the 11 bits of tf32 (fp64 problems: to the 24 bits of fp32) alone causes an
  /// error of 0.534 units in an element of x^T x, over the norms of the two columns, divided by
  /// sqrt(n), because the errors of more observations cancel.
  double widest_norm_bound() const override {
    const double unit = problem_.precision() == Precision::fp32 ? 0x1p-11 : 0x1p-24;
    return 0.534 * unit *
           std::sqrt(static_cast<double>(problem_.shape().d) /
                     static_cast<double>(problem_.shape().n));
  }

 private:
  /// As subtract_gram(), computed by the device, which generates x itself. If it cannot, returns
  /// nothing and leaves `error` unchanged.
  std::optional<double> subtract_gram_there(const Inputs& inputs, const Block& z,
                                            Block& error) const {
    const std::int64_t n = problem_.shape().n, d = problem_.shape().d;
    const Products of_x{.kind = Products::Kind::direction, .n = n, .d = d, .columns = d};
    const auto columns = static_cast<std::size_t>(d);
    std::vector<std::int64_t> outputs(2 * columns);
    std::iota(outputs.begin(), outputs.end(), std::int64_t{0});
    Block gram(z.size());
    double squares = 0;
    for (std::int64_t first = 0; first < n; first += rows_at_once)
      for (std::int64_t v = 0; v < vectors; ++v) {
        const std::int64_t rows = std::min(rows_at_once, n - first);
        std::vector<double> vector, factors{static_cast<double>(first)};
        for (std::int64_t j = 0; j < d; ++j)
          vector.push_back(z[static_cast<std::size_t>(j * vectors + v)]);
        const auto margins = margins_there(prover_, of_x, inputs, {}, vector, first, rows);
        if (!margins) return std::nullopt;
        for (const double margin : *margins) factors.insert(factors.end(), {margin, 1});
        // x^T margins; for the first vector also the squares of all columns.
        const auto sums =
            sums_there(prover_, of_x, rows, {"x"}, inputs, false,
                       std::span(outputs).first(v == 0 ? outputs.size() : columns), factors);
        if (!sums) return std::nullopt;
        for (std::int64_t j = 0; j < d; ++j) {
          gram[static_cast<std::size_t>(j * vectors + v)] +=
              (*sums)[static_cast<std::size_t>(j)].value;
          if (v == 0) squares += (*sums)[static_cast<std::size_t>(d + j)].value;
        }
      }
    for (std::size_t i = 0; i < gram.size(); ++i) error[i] -= gram[i];
    return squares;
  }
  /// error -= x^T x z. Returns ||x||_F^2.
  double subtract_gram(const Values& x, const Block& z, Block& error) const {
    const std::int64_t d = problem_.shape().d;
    double squares = 0;
#pragma omp parallel reduction(+ : squares)
    {
      std::vector<double> row(static_cast<std::size_t>(d));
      Block part(z.size());
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < problem_.shape().n; ++i) {
        x.fill(i * d, row);
        for (const double element : row) squares += element * element;
        double sums[vectors] = {};
        add_row_times(row.data(), z.data(), d, sums);
        add_column_times(row.data(), sums, d, part.data());
      }
#pragma omp critical
      for (std::size_t i = 0; i < part.size(); ++i) error[i] -= part[i];
    }
    return squares;
  }
};

}  // namespace

std::unique_ptr<Oracle> make_qr_oracle(const LinalgProblem& problem) {
  return std::make_unique<QrOracle>(problem);
}

}  // namespace assay::linalg
