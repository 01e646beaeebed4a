#pragma once
// Generated images of classes that a small network learns within minutes.

#include <cstdint>
#include <string>
#include <vector>

#include "models/network/learnable_samples.hpp"

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
class LearnableImages final : public LearnableSamples {
 public:
  /// Computes the patterns. InputError for fewer than 2 classes, and sizes below 8 or above 1024.
  explicit LearnableImages(const LearnableSettings& settings);

  std::int64_t classes() const override { return settings_.classes; }
  int size() const { return settings_.size; }
  std::int64_t elements() const override {
    return std::int64_t{3} * settings_.size * settings_.size;
  }
  /// [size, size, 3], with a mean near 0 and a standard deviation near 1.
  void make(std::int64_t index, float* out) const override;
  std::string canonical() const override;

 private:
  std::int64_t movement(std::uint32_t word) const;
  LearnableSettings settings_;
  std::vector<std::int16_t> patterns_;  ///< [classes, size, size, 3]
};

}  // namespace assay
