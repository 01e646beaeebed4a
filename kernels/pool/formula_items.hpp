#pragma once
// The reference of pooling as code of one thread, on the host or on a device
// (core/api/formula.hpp). Definitions: kernels/pool/problem.hpp; bounds: docs/method-pool.md.

#include "kernels/oracle/sum_bound.hpp"

namespace assay::pool {

/// One dimension of a plane.
struct Axis {
  std::int64_t in = 1, out = 1, taps = 1, step = 1, padding = 0;
  /// The elements [first, last) of src that the window of output `at` covers.
  ASSAY_ITEM std::int64_t first(std::int64_t at) const {
    const std::int64_t begin = at * step - padding;
    return begin < 0 ? 0 : begin;
  }
  ASSAY_ITEM std::int64_t last(std::int64_t at) const {
    const std::int64_t end = at * step - padding + taps;
    return end < in ? end : in;
  }
  /// The outputs [first, last) whose windows cover element `at` of src.
  ASSAY_ITEM std::int64_t first_window(std::int64_t at) const {
    const std::int64_t least = at + padding - taps + 1;
    return least <= 0 ? 0 : (least + step - 1) / step;
  }
  ASSAY_ITEM std::int64_t last_window(std::int64_t at) const {
    const std::int64_t end = (at + padding) / step + 1;
    return end < out ? end : out;
  }
};

struct Pool {
  sums::SumBound bound;
  Axis y, x;
  bool max = false, exact = false;
  bool random = false;  ///< the terms of sums are

  /// Adds a term to the sum of an output; a mean also has the error of a division.
  ASSAY_ITEM void add(sums::Terms& to, double term) const {
    to.value += term;
    to.absolute += std::fabs(term);
    // If terms are not random, partial sums are only known to be within the sum of all magnitudes.
    to.squares = random ? to.squares + term * term : 2 * to.absolute * to.absolute;
    to.count += to.count == 0 && !max ? 3 : 1;
  }
  /// A single term is copied exactly.
  ASSAY_ITEM Expected expected(const sums::Terms& terms) const {
    return exact || terms.count <= 1 ? Expected{terms.value, 0, 0} : bound.of_plane(terms, random);
  }
  ASSAY_ITEM double part(std::int64_t oy, std::int64_t ox) const {
    return 1 / static_cast<double>((y.last(oy) - y.first(oy)) * (x.last(ox) - x.first(ox)));
  }
  /// The first of the largest elements of a window of the plane that begins at `plane`.
  template <class In>
  ASSAY_ITEM std::int64_t largest(const In& in, std::int64_t plane, std::int64_t oy,
                                  std::int64_t ox) const {
    std::int64_t largest_at = plane + y.first(oy) * x.in + x.first(ox);
    double most = in(0, largest_at);
    for (std::int64_t i = y.first(oy); i < y.last(oy); ++i)
      for (std::int64_t j = x.first(ox); j < x.last(ox); ++j) {
        const double value = in(0, plane + i * x.in + j);
        if (!(value > most)) continue;
        most = value;
        largest_at = plane + i * x.in + j;
      }
    return largest_at;
  }
};

/// Input: src.
struct Dst : Pool {
  static constexpr const char* name = "pool dst";
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double*, std::int64_t i) const {
    const std::int64_t ox = i % x.out, oy = i / x.out % y.out,
                       plane = i / (x.out * y.out) * x.in * y.in;
    sums::Terms terms;
    if (max) {
      add(terms, in(0, largest(in, plane, oy, ox)));
      return expected(terms);
    }
    for (std::int64_t r = y.first(oy); r < y.last(oy); ++r)
      for (std::int64_t c = x.first(ox); c < x.last(ox); ++c)
        add(terms, part(oy, ox) * in(0, plane + r * x.in + c));
    return expected(terms);
  }
};

/// Inputs: src (of means not read), diff_dst.
struct DiffSrc : Pool {
  static constexpr const char* name = "pool diff_src";
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double*, std::int64_t i) const {
    const std::int64_t ix = i % x.in, iy = i / x.in % y.in, image = i / (x.in * y.in),
                       plane = image * x.in * y.in;
    sums::Terms terms;
    for (std::int64_t oy = y.first_window(iy); oy < y.last_window(iy); ++oy)
      for (std::int64_t ox = x.first_window(ix); ox < x.last_window(ix); ++ox) {
        if (max && largest(in, plane, oy, ox) != i) continue;
        const double diff = in(1, (image * y.out + oy) * x.out + ox);
        add(terms, max ? diff : part(oy, ox) * diff);
      }
    return expected(terms);
  }
};

}  // namespace assay::pool
