#include "kernels/rnn/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/place.hpp"
#include "kernels/rnn/gemm.hpp"

namespace assay::recurrent {
namespace {

/// A device computes products of at least this many multiply-adds. The host needs about 0.1 ms for
/// as many; copies and launches of a small product take half of that.
constexpr double worth_device = 1e6;
/// Number of the first and of the last rows that the host also computes, of the first product of
/// each shape.
constexpr std::int64_t checked_rows = 2;
/// Columns that are transposed together: a cache line.
constexpr std::int64_t columns_of_line = 16;

}  // namespace

Weights::Weights(std::int64_t rows, std::int64_t columns, std::vector<float> numbers,
                 Prover* prover)
    : rows_(rows), columns_(columns), numbers_(std::move(numbers)), prover_(prover) {
  if (prover_ != nullptr) kept_ = prover_->keep(rows_, columns_, numbers_.data());
}

void Weights::multiply(const KeptProduct& product) const {
  if (!on_device(product)) on_host(product);
}

void Weights::on_host(const KeptProduct& p) const {
  if (!p.transposed) {
    recurrent::multiply(p.m, p.count, rows_, p.a, p.lda, numbers_.data() + p.first, columns_, p.c,
                        p.ldc, p.add);
    return;
  }
  if (transposed_.empty()) {
    transposed_.resize(numbers_.size());
#pragma omp parallel for if (rows_ * columns_ > worth_threads)
    for (std::int64_t from = 0; from < columns_; from += columns_of_line)
      for (std::int64_t i = 0; i < rows_; ++i)
        for (std::int64_t j = from; j < std::min(from + columns_of_line, columns_); ++j)
          transposed_[place(j * rows_ + i)] = numbers_[place(i * columns_ + j)];
  }
  recurrent::multiply(p.m, rows_, p.count, p.a, p.lda, transposed_.data() + p.first * rows_, rows_,
                      p.c, p.ldc, p.add);
}

bool Weights::on_device(const KeptProduct& p) const {
  const double work =
      static_cast<double>(p.m) * static_cast<double>(rows_) * static_cast<double>(p.count);
  if (kept_ == nullptr || work < worth_device) return false;
  const std::int64_t checked = std::min(checked_rows, p.m);
  const std::string what = fmt::format("product {} x {} x {}{}", p.m, width(p), terms(p),
                                       p.transposed ? ", transposed" : "");
  if (!prover_->is_new(what)) return prover_->multiply(*kept_, p);
  const std::vector<double> first = some_rows(p, 0, checked),
                            last = some_rows(p, p.m - checked, checked);
  if (!prover_->multiply(*kept_, p)) return false;
  believe(p, 0, first);
  believe(p, p.m - checked, last);
  prover_->believe(what);
  return true;
}

std::vector<double> Weights::some_rows(KeptProduct p, std::int64_t first,
                                       std::int64_t count) const {
  const std::int64_t n = width(p);
  std::vector<double> rows(place(count * n));
  for (std::int64_t r = 0; r < count && p.add; ++r)
    std::copy_n(p.c + (first + r) * p.ldc, n, rows.begin() + r * n);
  p.m = count;
  p.a += first * p.lda;
  p.c = rows.data();
  p.ldc = n;
  on_host(p);
  return rows;
}

void Weights::believe(const KeptProduct& p, std::int64_t first,
                      const std::vector<double>& expected) const {
  const std::int64_t n = width(p), k = terms(p);
  float largest = 0;
#pragma omp parallel for simd reduction(max : largest) if (rows_ * columns_ > worth_threads)
  for (std::int64_t i = 0; i < rows_ * columns_; ++i)
    largest = std::max(largest, std::abs(numbers_[place(i)]));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(expected.size()) / n; ++i) {
    const std::int64_t row = first + i;
    double size = 0;  // the largest sum of the magnitudes of terms
    for (std::int64_t l = 0; l < k; ++l) size += std::abs(p.a[row * p.lda + l]);
    size *= static_cast<double>(largest);
    for (std::int64_t j = 0; j < n; ++j) {
      const double actual = p.c[row * p.ldc + j], wanted = expected[place(i * n + j)];
      // Two orders of summation of k terms and the previous c: each addition rounds by 2^-53 of a
      // sum.
      if (!(std::abs(actual - wanted) <=
            0x1p-52 * static_cast<double>(k + 1) * (2 * size + std::abs(wanted))))
        throw CaseError(fmt::format(
            "the GPU multiplies to {} where the host finds {} (row {}, column {} of a product with "
            "{} terms). Nothing that this GPU computes can be checked: update its driver, or test "
            "it (nvidia-smi, compute-sanitizer).",
            actual, wanted, row, j, k));
    }
  }
}

}  // namespace assay::recurrent
