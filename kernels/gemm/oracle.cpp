// The fp64 reference of single elements of C, the weighted sum of all of them, and the choice of
// the elements to compare. Bounds: kernels/oracle/sums.hpp, docs/method-gemm.md.

#include <cmath>
#include <optional>
#include <stdexcept>

#include "kernels/gemm/formula_items.hpp"
#include "kernels/gemm/problem.hpp"
#include "kernels/oracle/device_sums.hpp"
#include "kernels/oracle/failure.hpp"
#include "kernels/oracle/sampling.hpp"
#include "kernels/oracle/sums.hpp"

namespace assay {
namespace {

/// A stored matrix of a batch: element (row, column) of matrix `batch`.
struct Stored {
  std::int64_t rows, columns, ld;
  std::int64_t at(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return (batch * columns + column) * ld + row;
  }
};

/// Waking threads costs more than a small reference.
constexpr double worthwhile = 1e4;

/// Computes elements one at a time, with one object for each thread. Elements of one column share
/// that column of op(B), which is cached.
class Reference {
 public:
  Reference(const GemmProblem& problem, const Values& a, const Values& b, const Values* c)
      : problem_(problem),
        shape_(problem.shape()),
        a_(a),
        b_(b),
        c_(c),
        row_(static_cast<std::size_t>(shape_.k)),
        column_(row_.size()) {}

  bool is_padding(std::int64_t index) const { return index % shape_.ldc >= shape_.m; }
  /// The value of C before the operation.
  double before(std::int64_t index) const { return c_ == nullptr ? 0 : (*c_)(index); }

  /// The part of the products of `sum` that processors may lose if they read and write subnormal
  /// numbers as 0.
  double bound_flushed(const sums::Terms& sum) const {
    return std::abs(problem_.alpha()) * sums::bound_flushed(problem_.precision(), sum);
  }

  /// The sum of products alone.
  sums::Terms sum(std::int64_t index) {
    const GemmShape& s = shape_;
    const std::int64_t i = index % s.ldc, j = index / s.ldc % s.n, batch = index / (s.ldc * s.n);
    const Stored a{s.a_rows(), s.a_columns(), s.lda}, b{s.b_rows(), s.b_columns(), s.ldb};
    if (index / s.ldc != kept_) {
      kept_ = index / s.ldc;
      read(b_, s.tb ? b.at(batch, j, 0) : b.at(batch, 0, j), s.tb ? s.ldb : 1, column_);
    }
    read(a_, s.ta ? a.at(batch, 0, i) : a.at(batch, i, 0), s.ta ? 1 : s.lda, row_);
    sums::Sum sum(problem_.precision() == Precision::fp64, a_.random() && b_.random());
    sum.add(row_.data(), column_.data(), s.k);
    return sum.terms();
  }

  /// alpha and beta count as more terms and roundings: docs/method-gemm.md.
  sums::Terms scaled(sums::Terms terms, std::int64_t index) const {
    const double alpha = problem_.alpha(), beta = problem_.beta();
    if (alpha != 1) {
      terms.value *= alpha;
      terms.squares *= alpha * alpha;
      terms.absolute *= std::abs(alpha);
      terms.count += 2;
    }
    if (beta != 0) {
      const double added = beta * before(index);
      terms.value += added;
      terms.squares += 2 * added * added;
      terms.absolute += std::abs(added);
      terms.count += 3;
    }
    return terms;
  }

 private:
  static void read(const Values& values, std::int64_t first, std::int64_t stride,
                   std::vector<double>& out) {
    if (stride == 1) {
      values.fill(first, out);
      return;
    }
    for (std::size_t p = 0; p < out.size(); ++p)
      out[p] = values(first + static_cast<std::int64_t>(p) * stride);
  }

  const GemmProblem& problem_;
  const GemmShape& shape_;
  const Values& a_;
  const Values& b_;
  const Values* c_;
  std::int64_t kept_ = -1;  ///< column, counted over the batch, that is held
  std::vector<double> row_, column_;
};

/// Weighted sums of a stored matrix over its rows (one sum for each column), or over its columns.
std::vector<double> fold_batch(const Values& values, const Stored& matrix, std::int64_t batch,
                               const std::vector<double>& weights, bool over_rows) {
  const auto rows = static_cast<std::size_t>(matrix.rows);
  std::vector<double> sums(over_rows ? static_cast<std::size_t>(matrix.columns) : rows);
  sums::Failure failure;
#pragma omp parallel if (static_cast <double>(matrix.rows * matrix.columns) > worthwhile)
  {
    std::vector<double> column(rows), part(over_rows ? 0 : rows);
#pragma omp for schedule(static)
    for (std::int64_t j = 0; j < matrix.columns; ++j) {
      failure.keep([&] { values.fill(matrix.at(batch, 0, j), column); });
      if (over_rows) {
        double sum = 0;
        for (std::size_t i = 0; i < rows; ++i) sum += weights[i] * column[i];
        sums[static_cast<std::size_t>(j)] = sum;
      } else {
        const double weight = weights[static_cast<std::size_t>(j)];
        for (std::size_t i = 0; i < rows; ++i) part[i] += weight * column[i];
      }
    }
#pragma omp critical
    for (std::size_t i = 0; i < part.size(); ++i) sums[i] += part[i];
  }
  failure.rethrow();
  return sums;
}

/// The ends of the blocks of a matrix multiplication; `padded`: with the padding of a column.
std::vector<std::int64_t> marks(std::int64_t extent, std::int64_t padded) {
  sampling::Marks of_matrix(extent), all(padded);
  for (const std::int64_t size : {4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256})
    of_matrix.add_blocks(size);
  for (const std::int64_t mark : of_matrix.take()) all.add(mark);
  all.add(extent);
  return all.take();
}

class GemmOracle final : public Oracle {
 public:
  explicit GemmOracle(const GemmProblem& problem)
      : problem_(problem), tensors_(problem.tensors()) {}

  int exact_magnitude(const Execution& execution) const override {
    const double alpha = problem_.alpha(), beta = problem_.beta();
    constexpr double largest = 1024;
    for (const double factor : {alpha, beta})
      if (factor != std::nearbyint(factor) || std::abs(factor) > largest) return 0;
    // The second matrix has the coarser type (or the same): both types hold its values.
    return sums::exact_magnitude(problem_.precision(), execution, tensors_[1].type,
                                 static_cast<double>(problem_.shape().k), alpha, beta);
  }

  int full_magnitude(const TensorSpec& argument) const override {
    return sums::full_magnitude(argument.type);
  }

  std::vector<std::int64_t> sample(const TensorSpec&, double budget,
                                   std::uint64_t seed) const override {
    const GemmShape& s = problem_.shape();
    return sampling::choose_elements({s.batch, s.n, s.ldc},
                                     {marks(s.batch, s.batch), marks(s.n, s.n), marks(s.m, s.ldc)},
                                     static_cast<double>(s.k), budget, seed);
  }

  void expect(const TensorSpec&, const Inputs& inputs, const Execution& execution, bool exact,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    if (indices.size() != expected.size())
      throw std::logic_error("gemm oracle: as many indices as places are needed");
    const Values& a = inputs.find("a")->second;
    const Values& b = inputs.find("b")->second;
    const Values* const c = before(inputs);
    const sums::ErrorModel model(problem_.precision(), execution, indices.size());
    const auto count = static_cast<std::int64_t>(indices.size());
    const bool random = a.random() && b.random() && (c == nullptr || c->random());
    const double work = static_cast<double>(count) * static_cast<double>(problem_.shape().k);
    const std::optional<std::vector<sums::Terms>> there = sums_there(inputs, indices);
    sums::Failure failure;
#pragma omp parallel if (work > worthwhile && !there)
    {
      Reference reference(problem_, a, b, c);
#pragma omp for schedule(dynamic, 16)
      for (std::int64_t i = 0; i < count; ++i) {
        failure.keep([&] {
          const std::int64_t index = indices[static_cast<std::size_t>(i)];
          Expected& want = expected[static_cast<std::size_t>(i)];
          if (reference.is_padding(index)) {
            want = {reference.before(index), 0, 0};
            return;
          }
          const sums::Terms sum =
              there ? (*there)[static_cast<std::size_t>(i)] : reference.sum(index);
          sums::Terms terms = reference.scaled(sum, index);
          if (!random) terms = sums::of_any_data(terms);
          want = exact ? Expected{terms.value, 0, 0} : model.expected(terms);
          if (exact || random || terms.absolute == 0) return;
          const double lost = reference.bound_flushed(sum);
          want.max_bound += lost;
          want.rms_bound += lost;
        });
      }
    }
    failure.rethrow();
  }

  std::optional<double> checksum(const TensorSpec& output, const Inputs& inputs,
                                 const ChecksumWeights& weights) const override {
    const GemmShape& s = problem_.shape();
    const Values& a = inputs.find("a")->second;
    const Values& b = inputs.find("b")->second;
    const Values* const c = before(inputs);
    if (size_of(output.type) == 2 && may_be_rounded(output.type, a, b, c)) return std::nullopt;
    const Stored stored_a{s.a_rows(), s.a_columns(), s.lda},
        stored_b{s.b_rows(), s.b_columns(), s.ldb};
    const std::vector<double> of_row = weights.factors(2), of_column = weights.factors(1);
    double total = 0;
    for (std::int64_t batch = 0; batch < s.batch; ++batch) {
      // u^T C v = (u^T op(A)) (op(B) v): no element of C is ever computed.
      const std::vector<double> left = fold_batch(a, stored_a, batch, of_row, !s.ta),
                                right = fold_batch(b, stored_b, batch, of_column, s.tb);
      double sum = 0;
      for (std::size_t p = 0; p < left.size(); ++p) sum += left[p] * right[p];
      total += weights.factor(0, batch) *
               (problem_.alpha() * sum + (c == nullptr ? 0 : kept(*c, batch, of_row, of_column)));
    }
    return total;
  }

  double widest_norm_bound() const override {
    return sums::widest_norm_bound(problem_.precision());
  }

 private:
  /// The device's sums of products, if there is a device. Padding has none.
  std::optional<std::vector<sums::Terms>> sums_there(const Inputs& inputs,
                                                     std::span<const std::int64_t> indices) const {
    if (prover_ == nullptr) return std::nullopt;
    const GemmShape& s = problem_.shape();
    using matrix_product::Steps;
    const auto steps = [](std::int64_t columns, std::int64_t ld, bool along_columns) {
      return Steps{columns * ld, along_columns ? ld : 1, along_columns ? 1 : ld};
    };
    const matrix_product::Products products{steps(s.a_columns(), s.lda, s.ta),
                                            steps(s.b_columns(), s.ldb, !s.tb),
                                            s.m,
                                            s.n,
                                            s.ldc,
                                            s.batch};
    Reference reference(problem_, inputs.find("a")->second, inputs.find("b")->second, nullptr);
    auto all = sums::sums_of_device(
        *prover_, products, s.k, {"a", "b"}, inputs, problem_.precision() == Precision::fp64,
        indices, [&](std::int64_t index) {
          return reference.is_padding(index) ? sums::Terms() : reference.sum(index);
        });
    for (std::size_t i = 0; all && i < all->size(); ++i) (*all)[i].count = s.k;
    return all;
  }

  /// The previous values of C, if they are read or its padding must not change.
  const Values* before(const Inputs& inputs) const {
    return tensors_[2].role == Role::inout ? &inputs.find("c")->second : nullptr;
  }

  /// Weighted sum of beta times the previous values of C, and of the padding between its columns.
  double kept(const Values& c, std::int64_t batch, std::vector<double> of_row,
              const std::vector<double>& of_column) const {
    const GemmShape& s = problem_.shape();
    for (std::int64_t i = 0; i < s.m; ++i) of_row[static_cast<std::size_t>(i)] *= problem_.beta();
    const std::vector<double> sums = fold_batch(c, {s.ldc, s.n, s.ldc}, batch, of_row, true);
    double total = 0;
    for (std::size_t j = 0; j < sums.size(); ++j) total += of_column[j] * sums[j];
    return total;
  }

  /// True if, even with integer inputs, some element is likely not to be an integer that a 16-bit
  /// type holds exactly.
  bool may_be_rounded(DataType type, const Values& a, const Values& b, const Values* c) const {
    const sums::Moments of_a = sums::moments(a, tensors_[0].elements()),
                        of_b = sums::moments(b, tensors_[1].elements());
    double limit = std::ldexp(1, sums::significand_bits(type));
    if (c != nullptr)
      limit -= std::abs(problem_.beta()) * sums::moments(*c, tensors_[2].elements()).largest;
    limit /= std::abs(problem_.alpha());
    return limit <= 0 || sums::log_tail(static_cast<double>(problem_.shape().k),
                                        of_a.mean_square * of_b.mean_square,
                                        of_a.largest * of_b.largest, limit) > sums::never;
  }

  GemmProblem problem_;
  std::vector<TensorSpec> tensors_;
};

}  // namespace

std::unique_ptr<Oracle> make_gemm_oracle(const GemmProblem& problem) {
  return std::make_unique<GemmOracle>(problem);
}

}  // namespace assay
