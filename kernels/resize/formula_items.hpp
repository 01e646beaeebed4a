#pragma once
// The reference of bilinear resizing as code of one thread, on the host or on a device
// (core/api/formula.hpp). Definitions: kernels/resize/problem.hpp; bounds: docs/method-pool.md.

#include "kernels/oracle/sum_bound.hpp"

namespace assay::resize {

/// A range of indices [first, last).
struct Range {
  std::int64_t first, last;
};

/// One dimension of a plane. A pixel's weight is the height of a tent of width 2 about it, at the
/// coordinate: 1 - |s - i|, or 0.
struct Axis {
  std::int64_t in = 1, out = 1;
  bool aligned = false;
  double drift = 0;  ///< error of a coordinate s, over s + 1

  ASSAY_ITEM std::int64_t divisor() const { return !aligned ? 2 * out : out > 1 ? out - 1 : 1; }
  /// The coordinate of output o, times divisor().
  ASSAY_ITEM std::int64_t scaled(std::int64_t o) const {
    const std::int64_t at = aligned ? o * (in - 1) : (2 * o + 1) * in - out,
                       most = (in - 1) * divisor();
    return at < 0 ? 0 : at > most ? most : at;
  }
  /// The weight of input i in output o, and the largest increase by the error of the coordinate.
  struct Weight {
    double value, more;
  };
  ASSAY_ITEM Weight weight(std::int64_t o, std::int64_t i) const {
    const std::int64_t at = scaled(o), by = divisor(), apart = at - i * by;
    const std::int64_t distance = apart < 0 ? -apart : apart;
    const double more = drift * (static_cast<double>(at) / static_cast<double>(by) + 1);
    if (distance < by) return {static_cast<double>(by - distance) / static_cast<double>(by), more};
    return {0, static_cast<double>(distance - by) < more * static_cast<double>(by) ? more : 0};
  }
  /// A range that includes all inputs that output o reads.
  ASSAY_ITEM Range read_by(std::int64_t o) const {
    const std::int64_t i = scaled(o) / divisor();
    return {i < 1 ? 0 : i - 1, i + 3 < in ? i + 3 : in};
  }
  /// A range that includes all outputs that read input i.
  ASSAY_ITEM Range readers(std::int64_t i) const {
    if (in == 1) return {0, out};
    // From the outputs near input i - 1 to those near i + 1 (output i out / in, or i (out - 1) /
    // (in - 1)), and two more.
    const std::int64_t steps = aligned ? out - 1 : out, steps_read = aligned ? in - 1 : in,
                       first = (i - 1) * steps / steps_read - 2,
                       last = (i + 2) * steps / steps_read + 3;
    return {i == 0 || first < 0 ? 0 : first, i == in - 1 || last > out ? out : last};
  }
};

struct Resize {
  sums::SumBound bound;
  Axis y, x;
  bool exact = false;
  bool random = false;  ///< the terms are

  /// The inputs from which one output is computed.
  struct Sum {
    sums::Terms terms;
    double more = 0;  ///< of the errors of coordinates
  };
  ASSAY_ITEM static bool counts(const Axis::Weight& weight) {
    return weight.value + weight.more > 0;
  }
  ASSAY_ITEM void add(Sum& to, const Axis::Weight& row, const Axis::Weight& column,
                      double value) const {
    const double term = row.value * column.value * value, size = std::fabs(term);
    // (row + its error) (column + its error) - row column, in a form without cancellation.
    to.more +=
        (row.value * column.more + row.more * (column.value + column.more)) * std::fabs(value);
    if (row.value == 0 || column.value == 0) return;
    to.terms.value += term;
    to.terms.absolute += size;
    // If terms are not random, partial sums are only known to be within the sum of all magnitudes.
    to.terms.squares =
        random ? to.terms.squares + term * term : 2 * to.terms.absolute * to.terms.absolute;
    // Two weights, their product and the product with the pixel are rounded.
    to.terms.count += to.terms.count == 0 ? 4 : 1;
  }
  ASSAY_ITEM Expected expected(const Sum& sum) const {
    if (exact) return {sum.terms.value, 0, 0};
    Expected all = bound.of_plane(sum.terms, random);
    all.max_bound += sum.more;
    all.rms_bound += sum.more;
    return all;
  }
};

/// Input: src.
struct Dst : Resize {
  static constexpr const char* name = "resize dst";
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double*, std::int64_t at) const {
    const std::int64_t ox = at % x.out, oy = at / x.out % y.out,
                       plane = at / (x.out * y.out) * x.in * y.in;
    const Range rows = y.read_by(oy), columns = x.read_by(ox);
    Sum sum;
    for (std::int64_t i = rows.first; i < rows.last; ++i) {
      const Axis::Weight row = y.weight(oy, i);
      for (std::int64_t j = columns.first; counts(row) && j < columns.last; ++j)
        if (const Axis::Weight column = x.weight(ox, j); counts(column))
          add(sum, row, column, in(0, plane + i * x.in + j));
    }
    return expected(sum);
  }
};

/// Input: diff_dst.
struct DiffSrc : Resize {
  static constexpr const char* name = "resize diff_src";
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double*, std::int64_t at) const {
    const std::int64_t j = at % x.in, i = at / x.in % y.in,
                       plane = at / (x.in * y.in) * x.out * y.out;
    const Range rows = y.readers(i), columns = x.readers(j);
    Sum sum;
    for (std::int64_t oy = rows.first; oy < rows.last; ++oy) {
      const Axis::Weight row = y.weight(oy, i);
      for (std::int64_t ox = columns.first; counts(row) && ox < columns.last; ++ox)
        if (const Axis::Weight column = x.weight(ox, j); counts(column))
          add(sum, row, column, in(0, plane + oy * x.out + ox));
    }
    return expected(sum);
  }
};

}  // namespace assay::resize
