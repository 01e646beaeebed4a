#pragma once
// Generated images of classes that a small network learns within minutes.

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

struct LearnableSettings {
  std::int64_t classes = 10;
  int size = 32;  ///< height and width, at least 8
  std::uint64_t seed = 1;
};

/// Images with 3 colours. An image is a function of the seed and its index.
///
/// A class has a pattern: in each colour three waves with 2 to 4 periods along each axis, with
/// random directions and phases. An image is the pattern of its class, shifted cyclically by up to
/// an eighth of its side along each axis, multiplied by 1/2 to 3/2, plus a constant in each colour
/// and noise as strong as the pattern. Shifts exceed half a wave length, so mean images and single
/// pixels do not distinguish classes; local patterns do, which convolutions can find.
///
/// All arithmetic is in integers, and the last step multiplies by a power of two, so images are
/// equal on all processors.
class LearnableImages {
 public:
  /// Computes the patterns. InputError for fewer than 2 classes, and sizes below 8 or above 1024.
  explicit LearnableImages(const LearnableSettings& settings);

  /// Index of the first image for validation; images for training have lower indices.
  static constexpr std::int64_t validation_first = std::int64_t{1} << 40;

  std::int64_t classes() const { return settings_.classes; }
  int size() const { return settings_.size; }
  std::int64_t elements() const { return std::int64_t{3} * settings_.size * settings_.size; }
  /// The class of an image: index mod classes.
  std::int64_t label(std::int64_t index) const { return index % settings_.classes; }
  /// Computes image `index` (>= 0): [size, size, 3] in row-major order, with a mean near 0 and a
  /// standard deviation near 1. Several threads may call it.
  void make(std::int64_t index, float* out) const;
  /// "learnable:c10s32seed1".
  std::string canonical() const;

 private:
  std::int64_t movement(std::uint32_t word) const;
  LearnableSettings settings_;
  std::vector<std::int16_t> patterns_;  ///< [classes, size, size, 3]
};

}  // namespace assay
