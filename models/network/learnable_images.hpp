#pragma once
// Images of classes that a small network learns within minutes: made, not read.

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

struct LearnableSettings {
  std::int64_t classes = 10;
  int size = 32;  ///< height and width, at least 8
  std::uint64_t seed = 1;
};

/// Images with 3 colours that are functions of (seed, index).
///
/// A class has a pattern: in each colour three waves with 2 to 4 periods along each axis, of random
/// directions and phases. An image is the pattern of its class, moved cyclically by up to an eighth
/// of its side along each axis, times 1/2 to 3/2, plus a constant in each colour and noise as
/// strong as the pattern. The shifts reach beyond half a wave, so classes are not to be told from
/// their mean images, nor single pixels; they are from local patterns, which convolutions find.
///
/// All arithmetic is of integers, and the last step multiplies by a power of two: the images are
/// the same on every processor.
class LearnableImages {
 public:
  /// Makes the patterns. InputError: fewer than 2 classes, a size below 8 or above 1024.
  explicit LearnableImages(const LearnableSettings& settings);

  /// Images of validation have the indices from here on; those of training are below.
  static constexpr std::int64_t validation_first = std::int64_t{1} << 40;

  std::int64_t classes() const { return settings_.classes; }
  int size() const { return settings_.size; }
  std::int64_t elements() const { return std::int64_t{3} * settings_.size * settings_.size; }
  /// index mod classes: equally many of each.
  std::int64_t label(std::int64_t index) const { return index % settings_.classes; }
  /// Image `index` (at least 0): elements() numbers, [size, size, 3] in row-major order, with mean
  /// near 0 and deviation near 1. Any thread.
  void make(std::int64_t index, float* out) const;
  /// "learnable:c10s32seed1".
  std::string canonical() const;

 private:
  std::int64_t movement(std::uint32_t word) const;
  LearnableSettings settings_;
  std::vector<std::int16_t> patterns_;  ///< [classes, size, size, 3]
};

}  // namespace assay
