// The triangular factor of a tall table, x = q r, by a tree of Householder factorizations (TSQR:
// Demmel, Grigori, Hoemmen, Langou, Communication-optimal parallel and sequential QR and LU
// factorizations, SIAM J. Sci. Comput. 34, 2012). Each thread reads its rows once, block by block:
// a block is copied by columns into the cache, and LAPACK's ?tpqrt factorizes [r; block], where r
// is already triangular. So x is not overwritten, and a few blocks are all the memory. The
// triangles of the threads are combined in the same way. No Gram matrix is formed, because it would
// square the condition number.

#include "kernels/blas/linalg.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "core/base/error.hpp"

namespace assay::blas {
namespace {

/// stpqrt and dtpqrt, as Fortran calls them: [a; b] = q r, a upper triangular [n,n], b [m,n], whose
/// last l rows are upper trapezoidal; r overwrites a. nb columns are reflected at once.
template <class Int, class Real>
using Tpqrt = void (*)(const Int* m, const Int* n, const Int* l, const Int* nb, Real* a,
                       const Int* lda, Real* b, const Int* ldb, Real* t, const Int* ldt, Real* work,
                       Int* info);

/// Columns that are reflected at once. Measured with OpenBLAS at d = 250: 8 … 16 are the fastest.
constexpr std::int64_t panel = 16;
/// Rows that are copied at once, so that whole cache lines are used.
constexpr std::int64_t rows_at_once = 8;

/// Rows of a block: enough that the work on r costs little beside theirs, and few enough that block
/// and triangle stay in the cache.
std::int64_t block_rows(std::int64_t d) { return std::max<std::int64_t>(512, 3 * d); }

template <class Int, class Real>
class TallSkinnyQr final : public BlasOperation {
 public:
  TallSkinnyQr(const LinalgProblem& problem, const std::string& name, void* function, int threads)
      : BlasOperation(problem.tensors(), 1),  // within each of ours
        n_(problem.shape().n),
        d_(problem.shape().d),
        rows_(std::min(block_rows(d_), n_)),
        panel_(std::min(panel, d_)),
        name_(name),
        call_(reinterpret_cast<Tpqrt<Int, Real>>(function)),
        threads_(threads) {
    execution_ = make_execution(name, problem, "tsqr");
    execution_.workspace_bytes =
        static_cast<std::size_t>(threads_ * elements_of_thread()) * sizeof(Real);
    execution_.numbers["block_rows"] = static_cast<double>(rows_);
    arguments_.push_back(bytes_tensor("blocks", Role::workspace, execution_.workspace_bytes));
  }

  void run(Stream&) override {
    use_threads();
    Int failed = 0;
    std::int64_t triangles = 1;
#pragma omp parallel num_threads(threads_) reduction(max : failed)
    {
      const std::int64_t part = omp_get_thread_num(), parts = omp_get_num_threads();
      if (part == 0) triangles = parts;
      failed = factor(find_part(part), n_ * part / parts, n_ * (part + 1) / parts);
    }
    for (std::int64_t part = 1; part < triangles; ++part)
      failed = std::max(failed, add(find_part(0), find_part(part).r, d_, d_, d_));
    if (failed != 0)
      throw CaseError(
          fmt::format("{} of {} failed (info is {}).", name_, library().file(), failed));
    store(find_part(0).r);
  }

 private:
  /// The memory of one thread. r, by columns, is the triangle of the rows added so far.
  struct Part {
    Real *r, *block, *t, *work;
  };

  std::int64_t elements_of_thread() const { return d_ * d_ + rows_ * d_ + 2 * panel_ * d_; }
  Part find_part(std::int64_t thread) const {
    Real* const r = data<Real>(2) + thread * elements_of_thread();
    Real* const block = r + d_ * d_;
    Real* const t = block + rows_ * d_;
    return {r, block, t, t + panel_ * d_};
  }

  /// The triangle of rows [first, end) of x.
  Int factor(const Part& part, std::int64_t first, std::int64_t end) const {
    std::fill_n(part.r, d_ * d_, Real(0));
    Int failed = 0;
    for (; first < end; first += rows_) {
      const std::int64_t rows = std::min(rows_, end - first);
      copy(data<const Real>(0) + first * d_, rows, part.block);
      failed = std::max(failed, add(part, part.block, rows, 0, rows_));
    }
    return failed;
  }

  /// Adds rows to a triangle; the last `trapezoid` of them are upper trapezoidal.
  Int add(const Part& part, Real* rows, std::int64_t count, std::int64_t trapezoid,
          std::int64_t leading) const {
    const auto m = static_cast<Int>(count), n = static_cast<Int>(d_),
               l = static_cast<Int>(trapezoid), nb = static_cast<Int>(panel_),
               ldb = static_cast<Int>(leading);
    Int info = 0;
    call_(&m, &n, &l, &nb, part.r, &n, rows, &ldb, part.t, &nb, part.work, &info);
    return info < 0 ? -info : info;
  }

  /// Rows of x by columns, `rows_` apart.
  void copy(const Real* from, std::int64_t rows, Real* to) const {
    for (std::int64_t top = 0; top < rows; top += rows_at_once)
      for (std::int64_t j = 0; j < d_; ++j)
        for (std::int64_t i = top; i < std::min(rows, top + rows_at_once); ++i)
          to[j * rows_ + i] = from[i * d_ + j];
  }

  /// r by rows, with the signs that make its diagonal nonnegative.
  void store(const Real* triangle) const {
    Real* const out = data<Real>(1);
    for (std::int64_t i = 0; i < d_; ++i) {
      const Real sign = triangle[i * d_ + i] < 0 ? Real(-1) : Real(1);
      std::fill_n(out + i * d_, i, Real(0));
      for (std::int64_t j = i; j < d_; ++j) out[i * d_ + j] = sign * triangle[j * d_ + i];
    }
  }

  std::int64_t n_, d_, rows_, panel_;
  std::string name_;
  Tpqrt<Int, Real> call_;
  int threads_;
};

}  // namespace

Result<std::unique_ptr<Operation>> make_qr(const LinalgProblem& problem, int threads) {
  const std::string name = problem.precision() == Precision::fp64 ? "dtpqrt" : "stpqrt";
  Result<void*> function = library().lapack(name);
  if (auto* const why = std::get_if<Unsupported>(&function)) return std::move(*why);
  return make_own<TallSkinnyQr>(problem.precision(), problem, name, std::get<void*>(function),
                                threads);
}

}  // namespace assay::blas
