#pragma once
// The items (item.hpp) of batch normalization (kernels/norm/problem.hpp), channels innermost. A row
// is a pixel. Items that compute elements compute `width` channels of a row at once. Sums over
// chunks of rows are in the precision of the arithmetic, sums over chunks in fp64.

#include <cmath>

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

/// Number of rows whose mean is the pivot: squares are of differences from it.
inline constexpr std::int64_t norm_pivot_rows = 16;

/// Rows are divided into chunks.
struct NormRows {
  std::int64_t rows, channels, chunk;
  std::int64_t chunks() const { return (rows + chunk - 1) / chunk; }
};

/// The pivot of a channel, the mean of evenly spaced rows. Squares of differences from it lose few
/// digits.
template <class Stored>
struct NormPivot {
  const Stored* src;
  NormRows shape;
  ValueOf<Stored>* pivot;
  ASSAY_ITEM void operator()(std::int64_t c) const {
    const std::int64_t count = norm_pivot_rows < shape.rows ? norm_pivot_rows : shape.rows;
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i)
      sum += static_cast<double>(widen(src[shape.rows * i / count * shape.channels + c]));
    pivot[c] = static_cast<ValueOf<Stored>>(sum / static_cast<double>(count));
  }
};

/// Sums what `Term` computes for each element of a chunk: two sums for each channel, [chunks, 2,
/// channels].
template <class Term>
struct NormSums {
  static constexpr int width = Term::width;
  using Value = typename Term::Value;
  Term term;
  NormRows shape;
  double* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t groups = shape.channels / width, c = i % groups * width,
                       first = i / groups * shape.chunk,
                       last = first + shape.chunk < shape.rows ? first + shape.chunk : shape.rows;
    Value sums[width] = {}, more[width] = {};
    for (std::int64_t row = first; row < last; ++row)
      term.add(row * shape.channels + c, c, sums, more);
    double* const of_chunk = to + i / groups * 2 * shape.channels + c;
    for (int j = 0; j < width; ++j) {
      of_chunk[j] = static_cast<double>(sums[j]);
      of_chunk[shape.channels + j] = static_cast<double>(more[j]);
    }
  }
};

/// Elements, and squares of their differences from the pivot.
template <class Stored, int size>
struct NormMomentTerm {
  static constexpr int width = size;
  using Value = ValueOf<Stored>;
  const Stored* src;
  const Value* pivot;
  ASSAY_ITEM void add(std::int64_t at, std::int64_t c, Value* sums, Value* squares) const {
    Value x[width];
    load<width>(src + at, x);
    for (int j = 0; j < width; ++j) {
      const Value moved = x[j] - pivot[c + j];
      sums[j] += x[j];
      squares[j] += moved * moved;
    }
  }
};

template <class Stored, int width>
using NormMomentSums = NormSums<NormMomentTerm<Stored, width>>;

/// The factor of a channel: scale / sqrt(variance + epsilon).
template <class Value>
struct NormFactor {
  const Value *scale, *variance;
  double epsilon;
  Value* factor;
  ASSAY_ITEM double inverse(std::int64_t c) const {
    return 1 / std::sqrt(static_cast<double>(variance[c]) + epsilon);
  }
  ASSAY_ITEM void operator()(std::int64_t c) const {
    factor[c] = static_cast<Value>(static_cast<double>(scale[c]) * inverse(c));
  }
};

/// Mean and variance of a channel, from the sums [2, channels].
template <class Value>
struct NormMoments {
  const double* totals;
  const Value* pivot;
  NormRows shape;
  Value *mean, *variance;
  NormFactor<Value> factor;
  ASSAY_ITEM void operator()(std::int64_t c) const {
    const auto m = static_cast<double>(shape.rows);
    const double average = totals[c] / m, moved = average - static_cast<double>(pivot[c]),
                 spread = totals[shape.channels + c] / m - moved * moved;
    mean[c] = static_cast<Value>(average);
    variance[c] = static_cast<Value>(spread < 0 ? 0 : spread);  // keeps NaN
    factor(c);
  }
};

template <class Stored, int width>
struct Normalize {
  using Value = ValueOf<Stored>;
  const Stored *src, *addend;  ///< addend: null where nothing is added
  const Value *factor, *mean, *shift;
  bool relu;
  std::int64_t channels;
  Stored* dst;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t at = i * width, c = at % channels;
    Value x[width], more[width] = {};
    load<width>(src + at, x);
    if (addend != nullptr) load<width>(addend + at, more);
    for (int j = 0; j < width; ++j) {
      x[j] = (x[j] - mean[c + j]) * factor[c + j] + shift[c + j] + more[j];
      if (relu && x[j] <= 0) x[j] = 0;  // keeps NaN
    }
    store<width>(x, dst + at);
  }
};

/// Loads the part of a gradient that passes the rectifier: 0 where dst is 0.
template <class Stored, int width>
ASSAY_ITEM void load_passed(const Stored* diff, const Stored* dst, std::int64_t at,
                            ValueOf<Stored>* g) {
  load<width>(diff + at, g);
  if (dst == nullptr) return;
  ValueOf<Stored> y[width];
  load<width>(dst + at, y);
  for (int j = 0; j < width; ++j)
    if (!(y[j] > 0)) g[j] = 0;
}

/// Gradients, and their products with centred elements. Writes the gradients that pass the
/// rectifier.
template <class Stored, int size>
struct NormGradientTerm {
  static constexpr int width = size;
  using Value = ValueOf<Stored>;
  const Stored *src, *dst, *diff;  ///< dst: null where there is no rectifier
  const Value* mean;
  Stored* passed;  ///< null where nothing was added
  ASSAY_ITEM void add(std::int64_t at, std::int64_t c, Value* sums, Value* products) const {
    Value x[width], g[width];
    load<width>(src + at, x);
    load_passed<Stored, width>(diff, dst, at, g);
    for (int j = 0; j < width; ++j) {
      sums[j] += g[j];
      products[j] += g[j] * (x[j] - mean[c + j]);
    }
    if (passed != nullptr) store<width>(g, passed + at);
  }
};

template <class Stored, int width>
using NormGradientSums = NormSums<NormGradientTerm<Stored, width>>;

/// The gradients of a channel's parameters, and the numbers by which the gradients of its elements
/// are factor g + slope (x - mean) + offset.
template <class Value>
struct NormSlopes {
  const double* totals;
  NormRows shape;
  NormFactor<Value> factor;
  Value *diff_scale, *diff_shift, *slope, *offset;
  ASSAY_ITEM void operator()(std::int64_t c) const {
    const double m = static_cast<double>(shape.rows), inverse = factor.inverse(c),
                 a = static_cast<double>(factor.scale[c]) * inverse,
                 of_scale = totals[shape.channels + c] * inverse;
    diff_shift[c] = static_cast<Value>(totals[c]);
    diff_scale[c] = static_cast<Value>(of_scale);
    slope[c] = static_cast<Value>(-a * inverse * of_scale / m);
    offset[c] = static_cast<Value>(-a * totals[c] / m);
    factor(c);
  }
};

template <class Stored, int width>
struct NormGradients {
  using Value = ValueOf<Stored>;
  const Stored *src, *dst, *diff;  ///< dst: null where diff has passed the rectifier
  const Value *mean, *factor, *slope, *offset;
  std::int64_t channels;
  Stored* diff_src;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t at = i * width, c = at % channels;
    Value x[width], g[width];
    load<width>(src + at, x);
    load_passed<Stored, width>(diff, dst, at, g);
    for (int j = 0; j < width; ++j)
      g[j] = factor[c + j] * g[j] + ((x[j] - mean[c + j]) * slope[c + j] + offset[c + j]);
    store<width>(g, diff_src + at);
  }
};

}  // namespace assay::cuda
