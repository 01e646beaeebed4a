#pragma once
// Single elements of learnable samples (LearnableImages, LearnableVectors, LearnableFields),
// computed from their definition alone.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/network/input_shape.hpp"

namespace assay {

class LearnableOracle {
 public:
  LearnableOracle(std::int64_t classes, std::int64_t side, std::uint64_t seed)
      : classes_(classes), side_(side), seed_(seed) {}

  /// The number of the image with this index among those of training or of validation.
  static std::int64_t number(std::int64_t index, bool training);
  std::int64_t label(std::int64_t number) const { return number % classes_; }
  /// A colour (0: red) of an image, exactly.
  double at(std::int64_t number, std::int64_t row, std::int64_t column, std::int64_t colour) const;

 private:
  std::int64_t pattern(std::int64_t label, std::int64_t row, std::int64_t column,
                       std::int64_t colour) const;

  std::int64_t classes_, side_;
  std::uint64_t seed_;
};

/// The same of LearnableVectors: element `element` of vector `number`.
double learnable_count(std::int64_t classes, std::uint64_t seed, std::int64_t number,
                       std::int64_t element);

/// The same of LearnableExpression.
double learnable_expression(std::uint64_t seed, std::int64_t number, std::int64_t element);

/// The same of LearnableFields, of one field.
class FieldOracle {
 public:
  FieldOracle(const InputShape& shape, std::uint64_t seed, std::int64_t number);
  double at(std::int64_t row, std::int64_t column, std::int64_t channel) const;
  std::int64_t label(std::int64_t row, std::int64_t column) const;

 private:
  struct Vortex {
    std::int64_t row, column, radius;
  };
  struct River {
    std::int64_t row, first, length, bend, phase;
  };
  /// The distance in columns from a vortex's centre; columns are cyclic, and the shorter way
  /// counts.
  std::int64_t measure_right(const Vortex& vortex, std::int64_t column) const;
  std::int64_t strength(const Vortex& vortex, std::int64_t row, std::int64_t column) const;
  /// Rows between a pixel and the river's centre line; nothing in columns without the river.
  std::optional<std::int64_t> distance(const River& river, std::int64_t row,
                                       std::int64_t column) const;
  std::int64_t half_width() const { return std::max<std::int64_t>(1, side_ / 48); }

  InputShape shape_;
  std::uint64_t seed_;
  std::int64_t number_, side_;
  std::vector<Vortex> vortices_;
  std::vector<River> rivers_;
};

}  // namespace assay
