// The objective of a linear support vector machine by CBLAS. Two products of a matrix and a vector
// serve each block of observations: x w, and the transposed block times s y. The second one is a
// sum over observations, so it is fp64 in both precisions; in fp32 the block is copied to fp64.

#include <algorithm>
#include <type_traits>

#include "kernels/blas/observations.hpp"

namespace assay::blas {
namespace {

constexpr std::int64_t losses = 4;

/// The functions of all precisions: x w, and the sum in fp64.
struct Functions {
  std::string names;
  void *of_precision, *of_fp64;
};

template <class Int, class Real>
class Hinge final : public BlockedPass {
 public:
  Hinge(const LinalgProblem& problem, int threads, const Functions& functions)
      : BlockedPass(problem, threads, make_execution(functions.names, problem, "direct"),
                    problem.shape().d + 1 + losses, 2 + (copies ? problem.shape().d : 0)),
        margins_(reinterpret_cast<GemvFunction<Int, Real>>(functions.of_precision)),
        direction_(reinterpret_cast<GemvFunction<Int, double>>(functions.of_fp64)) {}

 private:
  static constexpr bool copies = !std::is_same_v<Real, double>;

  void add(std::int64_t first, std::int64_t rows, double* sums, double* scratch) const override {
    const Real *const x = data<Real>(0) + first * d_, *const y = data<Real>(1) + first,
                      *const w = data<Real>(2);
    Real* const hinge_s = data<Real>(4) + first;
    double* const factors = scratch;
    auto* const dots = reinterpret_cast<Real*>(factors + block_rows());
    const auto d = static_cast<Int>(d_), count = static_cast<Int>(rows);
    margins_(row_major, no_transpose, count, d, Real(1), x, d, w, 1, Real(0), dots, 1);
    const double intercept = w[d_], slope = *data<Real>(3);
    double* const loss = sums + d_ + 1;
    bool any = false;
    for (std::int64_t i = 0; i < rows; ++i) {
      const double label = y[i], z = 1 - label * (static_cast<double>(dots[i]) + intercept),
                   s = std::min(std::max(slope * z, 0.0), 1.0);
      hinge_s[i] = static_cast<Real>(s);
      factors[i] = s * label;
      any = any || factors[i] != 0;
      sums[d_] += factors[i];
      loss[0] += std::max(z, 0.0);
      loss[1] += s;
      loss[2] += s * z;
      loss[3] += s * s;
    }
    if (!any) return;  // most blocks of a good separator
    direction_(row_major, transpose, count, d, 1, in_fp64(x, rows, factors + 2 * block_rows()), d,
               factors, 1, 1, sums, 1);
  }

  const double* in_fp64(const Real* x, std::int64_t rows, double* copy) const {
    if constexpr (copies) {
      std::copy_n(x, rows * d_, copy);
      return copy;
    } else {
      return x;
    }
  }

  void end(const double* sums) const override {
    std::copy_n(sums + d_ + 1, losses, data<double>(5));
    std::copy_n(sums, d_ + 1, data<double>(6));
  }

  GemvFunction<Int, Real> margins_;
  GemvFunction<Int, double> direction_;
};

}  // namespace

OperationResult make_hinge(const LinalgProblem& problem, int threads) {
  const std::string own = cblas_name("gemv", problem.precision()),
                    fp64 = cblas_name("gemv", Precision::fp64);
  Result<void*> of_precision = cblas(own), of_fp64 = cblas(fp64);
  for (Result<void*>* const function : {&of_precision, &of_fp64})
    if (auto* const why = std::get_if<Unsupported>(function)) return std::move(*why);
  const Functions functions{own == fp64 ? own : own + ", " + fp64, std::get<void*>(of_precision),
                            std::get<void*>(of_fp64)};
  return make_own<Hinge>(problem.precision(), problem, threads, functions);
}

}  // namespace assay::blas
