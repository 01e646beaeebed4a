#pragma once
// Synthetic tensor data. Every element is a function of its index: value = f(seed, stream, index),
// computed by Random123's Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2,
// 3, SC11, doi 10.1145/2063384.2063405). So a reference needs no copy of its inputs, and every rank
// and thread can compute its own part.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/api/precision.hpp"
#include "core/api/value_recipe.hpp"

namespace assay {

/// Elements that no recipe generates.
class StoredValues {
 public:
  StoredValues();
  virtual ~StoredValues() = default;
  StoredValues(const StoredValues&) = delete;
  StoredValues& operator=(const StoredValues&) = delete;
  virtual DataType type() const = 0;  ///< one that holds them
  virtual void fill(std::int64_t first, std::span<double> out) const = 0;
  /// Identifies these values among all stored values of this process.
  std::uint64_t serial() const { return serial_; }

 private:
  std::uint64_t serial_;
};

/// The values of one tensor. Immutable; functions return modified copies.
class Values {
 public:
  enum class Kind {
    mantissa,  ///< floating types: uniform in (-1, 1) with full significands, |v| >= 2^-10 (never
               ///< subnormal), of 8 bits |v| >= 2^-6; integers: uniform in the range that
               ///< `magnitude` gives
    integer,   ///< integers in [-magnitude, magnitude], for u8 in [0, magnitude]; exact in every
               ///< type
    fixed,     ///< floating types: multiples of 2^-magnitude in (-1, 1). Sums of up to
               ///< 2^(p - magnitude) of them are exact in p bits, in any order.
  };
  /// `stream` names the tensor: tensors of one seed and different names have unrelated values.
  /// Kind::mantissa of an integer type has the range [-magnitude, magnitude], for u8
  /// [0, 2 magnitude + 1]. Throws std::invalid_argument if `type` does not hold all values exactly.
  Values(Kind kind, std::uint64_t seed, std::string_view stream, DataType type, int magnitude);
  /// Values that are stored: the inputs of a layer inside a network. The functions below that
  /// return modified copies throw std::invalid_argument for them.
  explicit Values(std::shared_ptr<const StoredValues> stored);
  explicit Values(std::vector<double> stored);

  /// True if elements are random: independent of each other and symmetric about zero, which error
  /// bounds may assume. True for all but stored values.
  bool random() const { return stored_ == nullptr; }
  /// The stored values; null if they are random.
  const StoredValues* stored() const { return stored_.get(); }

  /// The values that `rank` has in this tensor (the constructor's are those of rank 0), for the
  /// reference of a collective.
  Values of_rank(int rank) const;
  /// The same, but zero at element i unless rank % groups == i % groups. So a sum over all ranks
  /// adds fewer nonzero values at each element.
  Values in_groups(int groups) const;

  /// The same, multiplied by 2^exponent. Exact, except that fp16's subnormal results are rounded.
  /// Throws std::invalid_argument unless the kind is Kind::mantissa and the type floating, of more
  /// than 8 bits.
  Values scaled(int exponent) const;

  /// The absolute values.
  Values magnitudes() const;

  /// The same, but zero except in the rows `kept`. Element i belongs to row (i / width) % rows.
  Values in_rows(std::int64_t width, std::int64_t rows, std::span<const std::int64_t> kept) const;
  /// True if in_rows() has kept this row.
  bool keeps(std::int64_t row) const { return recipe_.kept == nullptr || recipe_.kept[row] != 0; }

  /// The value of element `index`, rounded to the tensor's type.
  double operator()(std::int64_t index) const;
  /// The values of elements [first, first + out.size()). Much faster than one by one: one Philox
  /// call gives four elements (of fp64, two calls).
  void fill(std::int64_t first, std::span<double> out) const;

  /// The type to which they are rounded.
  DataType type() const { return type_; }
  /// The recipe of random values; its `kept` is memory of the host, which belongs to these values.
  const ValueRecipe& recipe() const { return recipe_; }

 private:
  void clear_others(std::uint64_t first, std::span<double> out) const;
  void clear_rows(std::uint64_t first, std::span<double> out) const;
  Kind kind_;
  DataType type_;
  ValueRecipe recipe_;
  std::shared_ptr<const std::vector<unsigned char>> kept_;  ///< memory behind recipe_.kept
  std::shared_ptr<const StoredValues> stored_;
};

/// Writes a random permutation of 0 … n-1 to `indices`. It is a function of `seed` alone, on every
/// platform, so that the order of cases and launches can be reproduced.
void shuffle(std::span<std::size_t> indices, std::uint64_t seed);

}  // namespace assay
