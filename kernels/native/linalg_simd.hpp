#pragma once
// The inner loops of the dense kernels of data analysis, for one thread, in the best instruction
// set of the processor. Rows of x are adjacent, without padding, and nothing is read outside of
// them.

#include <cstddef>
#include <cstdint>

namespace assay::native {

/// Most rows that add_members and add_weighted take at once.
inline constexpr int most_members = 4;
/// Most centroids (or weight vectors) of compute_few_dots.
inline constexpr int most_dots = 4;

template <class T>
struct LinalgSimd {
  const char* target;
  std::ptrdiff_t lanes;  ///< of a vector of T
  /// to[0 … d) = x - shift; if shift is null, x.
  void (*copy_row)(const T* x, const T* shift, std::ptrdiff_t d, T* to);
  /// c[i, j] += sum over rows of a[row, i] a[row, j] for j <= i < columns, and some elements above
  /// the diagonal. The sums of one call are in T. Rows of a are `stride` apart, those of c
  /// `c_stride`; rows of both have `columns` elements, rounded up to whole vectors, and the padding
  /// of a is 0. Meanwhile `ahead` elements from `next` on are prefetched.
  void (*add_gram)(const T* a, std::ptrdiff_t stride, std::ptrdiff_t rows, std::ptrdiff_t columns,
                   double* c, std::ptrdiff_t c_stride, const T* next, std::ptrdiff_t ahead);
  /// out[row, slots[i]] (rows are `most_dots` apart) = the sum over j of x[row, j] w[i, j], for
  /// `count` rows of w. Rows of w are `stride` apart: at least d, rounded up to whole vectors; the
  /// padding is 0. Meanwhile prefetches the data `ahead` elements after x.
  void (*compute_few_dots)(const T* x, std::ptrdiff_t d, std::ptrdiff_t rows, const T* w,
                           std::ptrdiff_t stride, int count, const int* slots, T* out,
                           std::ptrdiff_t ahead);
  /// The same for many rows of w, which is stored as columns: w [d, stride], out [rows, stride];
  /// stride is a multiple of the vector length.
  void (*compute_many_dots)(const T* x, std::ptrdiff_t d, std::ptrdiff_t rows, const T* w,
                            std::ptrdiff_t stride, T* out, std::ptrdiff_t ahead);
  /// The index of the least start[i] - dots[i] for i < count; the first of equal ones. count is a
  /// multiple of the vector length.
  std::int32_t (*least)(const T* start, const T* dots, std::ptrdiff_t count);
  /// sums += the rows x[0 … rows), rows <= most_members; returns the sum of squares of their
  /// differences to `centroid`. Both are in fp64. sums has room for d elements, rounded up to whole
  /// vectors of fp64.
  double (*add_members)(const T* const* x, int rows, std::ptrdiff_t d, const T* centroid,
                        double* sums);
  /// sums += the rows x[0 … rows), each multiplied by its factor, in fp64. Otherwise as
  /// add_members.
  void (*add_weighted)(const T* const* x, const double* factors, int rows, std::ptrdiff_t d,
                       double* sums);
};

/// T: float or double.
template <class T>
const LinalgSimd<T>& linalg_simd();

}  // namespace assay::native
