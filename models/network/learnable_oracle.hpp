#pragma once
// Single elements of LearnableImages and LearnableVectors, computed from their definition alone.

#include <cstdint>

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
  std::int64_t noise(std::int64_t number, std::int64_t element) const;

  std::int64_t classes_, side_;
  std::uint64_t seed_;
};

/// The same of LearnableVectors: element `element` of vector `number`.
double learnable_count(std::int64_t classes, std::uint64_t seed, std::int64_t number,
                       std::int64_t element);

}  // namespace assay
