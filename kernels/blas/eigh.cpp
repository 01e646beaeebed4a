// Eigenvalues and eigenvectors of a symmetric matrix by LAPACK's ?syevd. LAPACK stores matrices by
// columns, so the lower triangle of a row-major matrix is the upper triangle of its transpose,
// which is the same matrix. ?syevd overwrites its argument with the eigenvectors. Therefore a is
// copied to v before, and v is transposed in place afterwards; the time includes both.

#include "kernels/blas/linalg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/base/error.hpp"

namespace assay::blas {
namespace {

/// ssyevd and dsyevd, as Fortran calls them: the lengths of the two texts come last.
template <class Int, class Real>
using Syevd = void (*)(const char* vectors, const char* triangle, const Int* n, Real* a,
                       const Int* lda, Real* w, Real* work, const Int* lwork, Int* iwork,
                       const Int* liwork, Int* info, std::size_t, std::size_t);

/// Rows and columns of a tile of the transposition: two tiles fit into the L1 cache.
constexpr std::int64_t tile = 32;

template <class Real>
void transpose_square(Real* a, std::int64_t d) {
  for (std::int64_t top = 0; top < d; top += tile)
    for (std::int64_t left = 0; left <= top; left += tile)
      for (std::int64_t i = top; i < std::min(d, top + tile); ++i)
        for (std::int64_t j = left; j < std::min(i, left + tile); ++j)
          std::swap(a[i * d + j], a[j * d + i]);
}

template <class Int, class Real>
class Eigh final : public BlasOperation {
 public:
  Eigh(const LinalgProblem& problem, const std::string& name, void* function, int threads)
      : BlasOperation(problem.tensors(), threads),
        d_(static_cast<Int>(problem.shape().d)),
        name_(name),
        call_(reinterpret_cast<Syevd<Int, Real>>(function)) {
    execution_ = make_execution(name, problem, "divide_and_conquer");
    use_threads();
    size_workspaces();
    const auto add = [this](const char* what, std::size_t bytes) {
      execution_.workspace_bytes += bytes;
      arguments_.push_back(bytes_tensor(what, Role::workspace, bytes));
    };
    add("work", static_cast<std::size_t>(reals_) * sizeof(Real));
    add("integers", static_cast<std::size_t>(integers_) * sizeof(Int));
  }

  void run(Stream&) override {
    use_threads();
    Real* const v = data<Real>(2);
    std::copy_n(data<const Real>(0), static_cast<std::size_t>(d_) * static_cast<std::size_t>(d_),
                v);
    Int info = 0;
    call_("V", "U", &d_, v, &d_, data<Real>(1), data<Real>(3), &reals_, data<Int>(4), &integers_,
          &info, 1, 1);
    if (info != 0)
      throw CaseError(fmt::format("{} of {} computed no eigenvectors (info is {}).", name_,
                                  library().file(), info));
    transpose_square(v, static_cast<std::int64_t>(d_));
  }

 private:
  /// Takes the sizes that the library returns, but at least those that LAPACK documents, because
  /// ssyevd returns them as rounded fp32 numbers.
  void size_workspaces() {
    const Int ask = -1;
    Int info = 0, integers = 0;
    Real reals = 0;
    call_("V", "U", &d_, nullptr, &d_, nullptr, &reals, &ask, &integers, &ask, &info, 1, 1);
    if (info != 0)
      throw CaseError(fmt::format("{} of {} told no size of its workspace (info is {}).", name_,
                                  library().file(), info));
    const double workspace_values =
        std::ceil(static_cast<double>(reals) *
                  (1 + static_cast<double>(std::numeric_limits<Real>::epsilon())));
    reals_ = std::max(static_cast<Int>(workspace_values), 1 + 6 * d_ + 2 * d_ * d_);
    integers_ = std::max<Int>(integers, 3 + 5 * d_);
  }

  Int d_, reals_ = 0, integers_ = 0;
  std::string name_;
  Syevd<Int, Real> call_;
};

/// The largest d for which 3 d^2 fits 32 bits: ?syevd counts its workspace of about 2 d^2 in its
/// integers.
constexpr std::int64_t most_of_32_bits = 26754;

}  // namespace

Result<std::unique_ptr<Operation>> make_eigh(const LinalgProblem& problem, int threads) {
  const std::string name = problem.precision() == Precision::fp64 ? "dsyevd" : "ssyevd";
  Result<void*> function = library().lapack(name);
  if (auto* const why = std::get_if<Unsupported>(&function)) return std::move(*why);
  if (!library().wide() && problem.shape().d > most_of_32_bits)
    return Unsupported{fmt::format(
        "{} has 32-bit integers (LP64), which do not hold the size of the workspace of {} for d = "
        "{} (up to {}). Use a library with 64-bit ones.",
        library().file(), name, problem.shape().d, most_of_32_bits)};
  return make_own<Eigh>(problem.precision(), problem, name, std::get<void*>(function), threads);
}

}  // namespace assay::blas
