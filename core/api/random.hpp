#pragma once
// Synthetic tensor data that any element can be asked for: value = f(seed, stream, index), from
// Random123's Philox4x32-10. So a reference needs no copy of its inputs, and every rank and thread
// can make its own part.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/api/precision.hpp"

namespace assay {

/// A reproducible tensor of values.
class Values {
 public:
  enum class Kind {
    mantissa,  ///< uniform in (-1, 1) with full significands, |v| >= 2^-10 (no denormals arise);
               ///< integers: full allowed range
    integer,  ///< small integers in [-magnitude, magnitude] ([0, magnitude] for u8), exact in every
              ///< type
    fixed,    ///< floating types: multiples of 2^-magnitude in (-1, 1), that is `magnitude` bits:
              ///< sums of up to 2^(p - magnitude) of them are exact in p bits, in any order
  };
  /// `stream` separates tensors of one seed (its name is hashed). For Kind::mantissa of an integer
  /// type the range is
  /// [-magnitude, magnitude] ([0, 2 magnitude + 1] for u8).
  Values(Kind kind, std::uint64_t seed, std::string_view stream, DataType type, int magnitude);
  /// What a tensor holds that something else filled: the inputs of a layer inside a network. Not
  /// scaled nor divided among ranks (std::invalid_argument).
  explicit Values(std::shared_ptr<const std::vector<double>> stored);

  /// Whether elements are independent of each other and symmetric about zero, as error bounds may
  /// take for granted: all but stored ones.
  bool random() const { return stored_ == nullptr; }

  /// The same tensor as another rank has it (0: this constructor's): what a collective's reference
  /// needs.
  Values of_rank(int rank) const;
  /// The same, but zero at element i of all ranks other than i, i + groups, i + 2 groups, …, modulo
  /// `groups`: fewer of them then add up at an element than there are.
  Values in_groups(int groups) const;

  /// The same, times 2^exponent, rounded to the type where that makes fp16's small values
  /// subnormal. Floating types of Kind::mantissa alone; std::invalid_argument for others.
  Values scaled(int exponent) const;

  /// The same without its signs.
  Values magnitudes() const;

  /// The same, but zero in all rows other than `kept`: element i is of row i / width % rows.
  Values in_rows(std::int64_t width, std::int64_t rows, std::span<const std::int64_t> kept) const;
  /// Whether elements of that row are other than zero.
  bool keeps(std::int64_t row) const { return !kept_ || (*kept_)[static_cast<std::size_t>(row)]; }

  /// Element `index`, already rounded to the storage type.
  double operator()(std::int64_t index) const;
  /// Elements [first, first + out.size()): four per Philox call (fp64: two calls).
  void fill(std::int64_t first, std::span<double> out) const;

 private:
  void block(std::uint64_t counter, double (&out)[4]) const;
  void clear_others(std::uint64_t first, std::span<double> out) const;
  void clear_rows(std::uint64_t first, std::span<double> out) const;
  void scale(std::span<double> out) const;
  Kind kind_;
  DataType type_;
  int magnitude_;
  std::uint32_t key_[2];
  std::uint32_t rank_ = 0;
  int groups_ = 1;
  int exponent_ = 0;  ///< of the scale
  bool magnitudes_ = false;
  std::uint64_t width_ = 1;                        ///< of a row
  std::shared_ptr<const std::vector<bool>> kept_;  ///< by row; null: all
  std::shared_ptr<const std::vector<double>> stored_;
};

/// A permutation of 0 … n-1 from a seed; orders of cases and launches (recorded, reproducible
/// anywhere).
void shuffle(std::span<std::size_t> indices, std::uint64_t seed);

}  // namespace assay
