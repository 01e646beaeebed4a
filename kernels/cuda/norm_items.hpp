#pragma once
// The items (item.hpp) of batch normalization (kernels/norm/problem.hpp), channels innermost. A row
// is a pixel. Items that compute elements compute `width` channels of a row at once. Sums over
// chunks of rows are in the precision of the arithmetic, sums over chunks in fp64.

#include <algorithm>
#include <cmath>

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

/// Number of rows whose mean is the pivot; squares are those of the differences from it.
inline constexpr int norm_pivot_rows = 16;

/// Rows are divided into chunks. Channels are divided into groups of the size that a thread reads
/// at once.
struct NormRows {
  std::int64_t rows, channels, chunk;
  Divisor groups;
  std::int64_t chunks() const { return (rows + chunk - 1) / chunk; }
};

/// Rows that a thread adds in the precision of the arithmetic. There are so many that the sums need
/// one stage less, but so few that a large GPU has enough threads, each of which reads eight rows
/// at once, and never more than the bounds allow (docs/method-norm.md).
inline std::int64_t choose_chunk(std::int64_t rows, std::int64_t groups) {
  const std::int64_t most = std::max(rows * groups / 65536, rows / (rows_of_stage * rows_of_stage));
  return std::clamp<std::int64_t>((most + 7) / 8 * 8, 16, 256);
}

/// The pivot of `width` channels, the mean of evenly spaced rows. Squares of differences from it
/// lose few digits. Each item that needs the pivot computes it, and all get the same bits, because
/// only the additions round in a mean of 16 numbers.
template <int width, class Stored>
ASSAY_ITEM void norm_pivot(const Stored* src, const NormRows& shape, std::int64_t c,
                           ValueOf<Stored>* pivot) {
  const std::int64_t step = shape.rows / norm_pivot_rows * shape.channels;
  Pack<Stored, width> rows[norm_pivot_rows];
  for (int i = 0; i < norm_pivot_rows; ++i) rows[i] = read<width>(src + c + i * step);
  for (int j = 0; j < width; ++j) {
    ValueOf<Stored> sum = 0;
    for (int i = 0; i < norm_pivot_rows; ++i) sum += widen(rows[i].at[j]);
    pivot[j] = sum / norm_pivot_rows;
  }
}

/// Sums the terms that `Term` computes for each element of a chunk: two sums for each channel,
/// [chunks, 2, channels]. Several rows are read before the first one is added.
template <class Term>
struct NormSums {
  static constexpr int width = Term::width, least_blocks = 2;
  using Value = typename Term::Value;
  Term term;
  NormRows shape;
  double* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t chunk = shape.groups.quotient(i),
                       c = (i - chunk * shape.groups.by()) * width, first = chunk * shape.chunk,
                       last = first + shape.chunk < shape.rows ? first + shape.chunk : shape.rows;
    Value centre[width], sums[width] = {}, more[width] = {};
    term.find_centre(shape, c, centre);
    std::int64_t row = first;
    for (; row + Term::at_once <= last; row += Term::at_once)
      add<Term::at_once>(row, c, centre, sums, more);
    for (; row < last; ++row) add<1>(row, c, centre, sums, more);
    double* const of_chunk = to + chunk * 2 * shape.channels + c;
    for (int j = 0; j < width; ++j) {
      of_chunk[j] = static_cast<double>(sums[j]);
      of_chunk[shape.channels + j] = static_cast<double>(more[j]);
    }
  }

 private:
  template <int count>
  ASSAY_ITEM void add(std::int64_t row, std::int64_t c, const Value* centre, Value* sums,
                      Value* more) const {
    typename Term::Row rows[count];
    for (int k = 0; k < count; ++k) rows[k] = term.read_row((row + k) * shape.channels + c);
    for (int k = 0; k < count; ++k)
      term.add((row + k) * shape.channels + c, rows[k], centre, sums, more);
  }
};

/// Elements, and squares of their differences from the pivot.
template <class Stored, int size>
struct NormMomentTerm {
  static constexpr int width = size, at_once = 8;
  using Value = ValueOf<Stored>;
  using Row = Pack<Stored, width>;
  const Stored* src;
  ASSAY_ITEM void find_centre(const NormRows& shape, std::int64_t c, Value* pivot) const {
    norm_pivot<width>(src, shape, c, pivot);
  }
  ASSAY_ITEM Row read_row(std::int64_t at) const { return read<width>(src + at); }
  ASSAY_ITEM void add(std::int64_t, const Row& row, const Value* pivot, Value* sums,
                      Value* squares) const {
    for (int j = 0; j < width; ++j) {
      const Value x = widen(row.at[j]), moved = x - pivot[j];
      sums[j] += x;
      squares[j] += moved * moved;
    }
  }
};

template <class Stored, int width>
using NormMomentSums = NormSums<NormMomentTerm<Stored, width>>;

/// The factor of a channel, scale / sqrt(variance + epsilon), its mean and its shift, one after the
/// other: [3, channels]. They are copied so that packs of them can be read, because scale and shift
/// may begin anywhere.
template <class Value>
struct NormFactor {
  const Value *scale, *variance, *mean, *shift;
  double epsilon;
  std::int64_t channels;
  Value* to;
  ASSAY_ITEM double inverse(std::int64_t c) const {
    return 1 / std::sqrt(static_cast<double>(variance[c]) + epsilon);
  }
  ASSAY_ITEM void operator()(std::int64_t c) const {
    to[c] = static_cast<Value>(static_cast<double>(scale[c]) * inverse(c));
    to[channels + c] = mean[c];
    to[2 * channels + c] = shift[c];
  }
};

/// Mean and variance of a channel, from the sums [2, channels].
template <class Stored>
struct NormMoments {
  using Value = ValueOf<Stored>;
  FewRows totals;
  const Stored* src;
  NormRows shape;
  Value *mean, *variance;
  NormFactor<Value> factor;
  ASSAY_ITEM void operator()(std::int64_t c) const {
    Value pivot;
    norm_pivot<1>(src, shape, c, &pivot);
    const auto m = static_cast<double>(shape.rows);
    const double average = totals.sum(c) / m, moved = average - static_cast<double>(pivot),
                 spread = totals.sum(shape.channels + c) / m - moved * moved;
    mean[c] = static_cast<Value>(average);
    variance[c] = static_cast<Value>(spread < 0 ? 0 : spread);  // keeps NaN
    factor(c);
  }
};

/// Mean and variance of a channel, from sums of all its elements, and of their squares, in fp32.
template <class Value>
struct NormGivenMoments {
  const float *sum, *square_sum;
  std::int64_t rows;
  Value *mean, *variance;
  NormFactor<Value> factor;
  ASSAY_ITEM void operator()(std::int64_t c) const {
    const auto m = static_cast<double>(rows);
    const double average = static_cast<double>(sum[c]) / m,
                 spread = static_cast<double>(square_sum[c]) / m - average * average;
    mean[c] = static_cast<Value>(average);
    variance[c] = static_cast<Value>(spread < 0 ? 0 : spread);  // keeps NaN
    factor(c);
  }
};

/// Rows for which a thread computes a group of channels, so that it reads their factors once.
template <int width>
inline constexpr int norm_rows = width == 8 ? 2 : 4;

template <class Stored, int width>
struct Normalize {
  using Value = ValueOf<Stored>;
  const Stored *src, *addend;  ///< addend: null if nothing is added
  const Value* factors;        ///< NormFactor's
  bool relu;
  NormRows shape;
  Stored* dst;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t first = shape.groups.quotient(i),
                       c = (i - first * shape.groups.by()) * width,
                       at = first * norm_rows<width> * shape.channels + c,
                       end = shape.rows * shape.channels;
    Pack<Stored, width> x[norm_rows<width>] = {}, more[norm_rows<width>] = {};
    for (int k = 0; k < norm_rows<width>; ++k)
      if (const std::int64_t place = at + k * shape.channels; place < end) {
        x[k] = read<width>(src + place);
        if (addend != nullptr) more[k] = read<width>(addend + place);
      }
    Value factor[width], mean[width], shift[width];
    load<width>(factors + c, factor);
    load<width>(factors + shape.channels + c, mean);
    load<width>(factors + 2 * shape.channels + c, shift);
    for (int k = 0; k < norm_rows<width>; ++k) {
      const std::int64_t place = at + k * shape.channels;
      if (place >= end) break;
      Value y[width];
      for (int j = 0; j < width; ++j) {
        y[j] = (widen(x[k].at[j]) - mean[j]) * factor[j] + shift[j];
        if (addend != nullptr) y[j] += widen(more[k].at[j]);
        if (relu && y[j] <= 0) y[j] = 0;  // keeps NaN
      }
      store<width>(y, dst + place);
    }
  }
};

/// A row of a gradient, and the other values that its terms need.
template <class Stored, int width>
struct NormGradientRow {
  Pack<Stored, width> x, g, y;
  /// `dst`: null if there is no rectifier, or if the gradient has already passed it.
  ASSAY_ITEM static NormGradientRow read_row(const Stored* src, const Stored* dst,
                                             const Stored* diff, std::int64_t at) {
    NormGradientRow row = {};
    row.x = read<width>(src + at);
    row.g = read<width>(diff + at);
    if (dst != nullptr) row.y = read<width>(dst + at);
    return row;
  }
  /// The part that passes the rectifier: 0 where dst is 0.
  ASSAY_ITEM ValueOf<Stored> pass_gradient(bool rectified, int j) const {
    return rectified && !(widen(y.at[j]) > 0) ? 0 : widen(g.at[j]);
  }
};

/// Gradients, and their products with centred elements. Writes the gradients that pass the
/// rectifier.
template <class Stored, int size>
struct NormGradientTerm {
  static constexpr int width = size, at_once = 4;
  using Value = ValueOf<Stored>;
  using Row = NormGradientRow<Stored, width>;
  const Stored *src, *dst, *diff;  ///< dst: null if there is no rectifier
  const Value* mean;
  Stored* passed;  ///< null if nothing was added
  ASSAY_ITEM void find_centre(const NormRows&, std::int64_t c, Value* centre) const {
    for (int j = 0; j < width; ++j) centre[j] = mean[c + j];
  }
  ASSAY_ITEM Row read_row(std::int64_t at) const { return Row::read_row(src, dst, diff, at); }
  ASSAY_ITEM void add(std::int64_t at, const Row& row, const Value* centre, Value* sums,
                      Value* products) const {
    Value g[width];
    for (int j = 0; j < width; ++j) {
      g[j] = row.pass_gradient(dst != nullptr, j);
      sums[j] += g[j];
      products[j] += g[j] * (widen(row.x.at[j]) - centre[j]);
    }
    if (passed != nullptr) store<width>(g, passed + at);
  }
};

template <class Stored, int width>
using NormGradientSums = NormSums<NormGradientTerm<Stored, width>>;

/// The gradients of a channel's parameters, and the numbers [4, channels] from which the gradients
/// of its elements are computed as factor g + slope (x - mean) + offset: factor, mean, slope and
/// offset.
template <class Value>
struct NormSlopes {
  FewRows totals;
  NormRows shape;
  NormFactor<Value> factor;
  Value *diff_scale, *diff_shift;
  ASSAY_ITEM void operator()(std::int64_t c) const {
    const double m = static_cast<double>(shape.rows), inverse = factor.inverse(c),
                 a = static_cast<double>(factor.scale[c]) * inverse, total = totals.sum(c),
                 of_scale = totals.sum(shape.channels + c) * inverse;
    diff_shift[c] = static_cast<Value>(total);
    diff_scale[c] = static_cast<Value>(of_scale);
    Value* const to = factor.to + c;
    to[0] = static_cast<Value>(a);
    to[shape.channels] = factor.mean[c];
    to[2 * shape.channels] = static_cast<Value>(-a * inverse * of_scale / m);
    to[3 * shape.channels] = static_cast<Value>(-a * total / m);
  }
};

template <class Stored, int width>
struct NormGradients {
  using Value = ValueOf<Stored>;
  using Row = NormGradientRow<Stored, width>;
  const Stored *src, *dst, *diff;  ///< dst: null if `diff` has already passed the rectifier
  const Value* factors;            ///< NormSlopes'
  NormRows shape;
  Stored* diff_src;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t first = shape.groups.quotient(i),
                       c = (i - first * shape.groups.by()) * width,
                       at = first * norm_rows<width> * shape.channels + c,
                       end = shape.rows * shape.channels;
    Row rows[norm_rows<width>] = {};
    for (int k = 0; k < norm_rows<width>; ++k)
      if (const std::int64_t place = at + k * shape.channels; place < end)
        rows[k] = Row::read_row(src, dst, diff, place);
    Value factor[width], mean[width], slope[width], offset[width];
    load<width>(factors + c, factor);
    load<width>(factors + shape.channels + c, mean);
    load<width>(factors + 2 * shape.channels + c, slope);
    load<width>(factors + 3 * shape.channels + c, offset);
    for (int k = 0; k < norm_rows<width>; ++k) {
      const std::int64_t place = at + k * shape.channels;
      if (place >= end) break;
      Value g[width];
      for (int j = 0; j < width; ++j)
        g[j] = factor[j] * rows[k].pass_gradient(dst != nullptr, j) +
               ((widen(rows[k].x.at[j]) - mean[j]) * slope[j] + offset[j]);
      store<width>(g, diff_src + place);
    }
  }
};

}  // namespace assay::cuda
