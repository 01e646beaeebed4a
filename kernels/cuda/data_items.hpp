#pragma once
// The items (item.hpp) that generate inputs and read outputs. Items that access elements know their
// places in the layout of the tensor.

#include "core/api/random_items.hpp"
#include "kernels/cuda/item.hpp"

namespace assay::cuda {

/// More dimensions than any tensor has.
inline constexpr int most_dims = 8;

/// core/api/layout.hpp's Layout.
struct Places {
  int dims = 0;  ///< 0: the place is the index
  std::int64_t extent[most_dims], block[most_dims], outer[most_dims], inner[most_dims];
  std::int64_t piece = 0;  ///< elements of a piece
  const std::int64_t* pieces =
      nullptr;  ///< first elements of the pieces; null: the tensor is one piece
  ASSAY_ITEM std::int64_t operator()(std::int64_t i) const {
    if (dims == 0) return i;
    std::int64_t place = 0;
    for (int d = dims; d-- > 0; i /= extent[d]) {
      const std::int64_t at = i % extent[d];
      place += at / block[d] * outer[d] + at % block[d] * inner[d];
    }
    return pieces == nullptr ? place : pieces[place / piece] + place % piece;
  }
};

/// ChecksumWeights: a dimension has one block of factors, and a sign for each block.
struct Weights {
  int dims = -1;  ///< -1: none are wanted
  std::int64_t extent[most_dims], block = 1;
  const signed char *within[most_dims], *sign[most_dims];
  ASSAY_ITEM double operator()(std::int64_t i) const {
    std::int64_t product = 1;
    for (int d = dims; d-- > 0; i /= extent[d]) {
      const std::int64_t at = i % extent[d];
      product *= within[d][at % block] * sign[d][at / block];
    }
    return static_cast<double>(product);
  }
};

/// The value of a stored element, exactly.
template <class Stored>
ASSAY_ITEM double decode_value(Stored stored) {
  if constexpr (std::is_integral_v<Stored>)
    return static_cast<double>(stored);
  else
    return static_cast<double>(widen(stored));
}

/// Stores a value that Stored holds.
template <class Stored>
ASSAY_ITEM Stored to_stored(double value) {
  if constexpr (std::is_integral_v<Stored>)
    return static_cast<Stored>(value);
  else
    return narrow<Stored>(static_cast<ValueOf<Stored>>(value));
}

/// Elements 4 i … 4 i + 3 of n.
template <class Stored>
struct MakeValues {
  ValueRecipe recipe;
  Places place;
  Stored* to;
  std::int64_t n;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    double values[4];
    philox::make_block(recipe, static_cast<std::uint64_t>(i), values);
    const std::int64_t left = n - 4 * i, count = left < 4 ? left : 4;
    for (std::int64_t j = 0; j < count; ++j) to[place(4 * i + j)] = to_stored<Stored>(values[j]);
  }
};

/// The same bits in every element.
template <class Bits>
struct SetElement {
  Bits bits;
  Places place;
  Bits* to;
  ASSAY_ITEM void operator()(std::int64_t i) const { to[place(i)] = bits; }
};

/// Elements first, first + 1, … in row-major order, and the reverse.
template <class Bits>
struct PackElement {
  const Bits* from;
  Places place;
  std::int64_t first;
  Bits* to;
  ASSAY_ITEM void operator()(std::int64_t i) const { to[i] = from[place(first + i)]; }
};
template <class Bits>
struct PlaceElement {
  const Bits* from;
  Places place;
  std::int64_t first;
  Bits* to;
  ASSAY_ITEM void operator()(std::int64_t i) const { to[place(first + i)] = from[i]; }
};

/// A part of a ScanResult. The sum is sum + carry.
struct ScanPart {
  double sum = 0, carry = 0, rounding = 0, bad_value = 0;
  std::int64_t bad = 0, first_bad = 0;

  /// Knuth's two-sum: the rounding error of an addition goes to `carry`. Sums of integers below
  /// 2^53 are exact as long as n of them have no partial sum M with n M > 2^106: an addition's
  /// error is an integer of at most 2^-53 M, so that the sum of the errors stays below 2^53, where
  /// fp64 holds all integers. (If a compiler fuses a multiplication with the addition, exact
  /// products do not change; others change by at most their own rounding.)
  ASSAY_ITEM void add(double part) {
    const double total = sum + part, of_part = total - sum;
    carry += (sum - (total - of_part)) + (part - of_part);
    sum = total;
  }
  ASSAY_ITEM void add(const ScanPart& other) {
    add(other.sum);
    carry += other.carry;
    rounding += other.rounding;
    if (other.bad > 0 && (bad == 0 || other.first_bad < first_bad)) {
      first_bad = other.first_bad;
      bad_value = other.bad_value;
    }
    bad += other.bad;
  }
};

/// Elements i, i + lanes, i + 2 lanes, … of n, so that neighbouring elements are read at the same
/// time.
template <class Stored>
struct ScanLane {
  const Stored* from;
  Places place;
  Weights weights;
  double largest;      ///< of a result
  double exact_below;  ///< larger values may have been rounded when they were stored, by `unit`
  double unit;
  std::int64_t n, lanes;
  ScanPart* to;
  ASSAY_ITEM void operator()(std::int64_t lane) const {
    ScanPart part;
    for (std::int64_t i = lane; i < n; i += lanes) {
      const double value = decode_value(from[place(i)]), size = value < 0 ? -value : value;
      if (!(size <= largest)) {
        if (part.bad++ == 0) {
          part.first_bad = i;
          part.bad_value = value;
        }
      }
      if (weights.dims < 0) continue;
      const double product = weights(i) * value;
      part.add(product);
      if (size > exact_below) part.rounding += (product < 0 ? -product : product) * unit;
    }
    to[lane] = part;
  }
};

/// The next stage of a scan: one of up to rows_of_stage parts.
struct ScanStage {
  const ScanPart* from;
  ScanPart* to;
  std::int64_t count;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    ScanPart part;
    const std::int64_t left = count - i * rows_of_stage,
                       here = left < rows_of_stage ? left : rows_of_stage;
    for (std::int64_t j = 0; j < here; ++j) part.add(from[i * rows_of_stage + j]);
    to[i] = part;
  }
};

template <class Stored>
struct Gather {
  const Stored* from;
  Places place;
  const std::int64_t* indices;
  double* to;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    to[i] = decode_value(from[place(indices[i])]);
  }
};

}  // namespace assay::cuda
