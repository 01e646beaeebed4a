#pragma once
// Functions of CBLAS as C calls them. `Int` is int32_t or int64_t, as the library's integers are.

namespace assay::blas {

// Values of the enumerations of every cblas.h.
inline constexpr int row_major = 101, column_major = 102, no_transpose = 111, transpose = 112,
                     lower = 122;

/// `Scalar`: the type of alpha and beta; `Real`: that of matrices, void where it varies.
template <class Int, class Scalar, class Real = Scalar>
using GemmFunction = void (*)(int order, int transpose_a, int transpose_b, Int m, Int n, Int k,
                              Scalar alpha, const Real* a, Int lda, const Real* b, Int ldb,
                              Scalar beta, Real* c, Int ldc);

template <class Int, class Real>
using GemvFunction = void (*)(int order, int transpose_a, Int m, Int n, Real alpha, const Real* a,
                              Int lda, const Real* x, Int x_step, Real beta, Real* y, Int y_step);

template <class Int, class Real>
using SyrkFunction = void (*)(int order, int triangle, int transpose_a, Int n, Int k, Real alpha,
                              const Real* a, Int lda, Real beta, Real* c, Int ldc);

}  // namespace assay::blas
