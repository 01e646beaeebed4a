#pragma once
// The shape of a sample that a network reads, and that of its labels.

#include <cstdint>

namespace assay {

/// An image, or a vector of `channels` numbers, whose height and width are 1.
struct InputShape {
  std::int64_t channels = 3, height = 224, width = 224;
  bool operator==(const InputShape&) const = default;

  std::int64_t pixels() const { return height * width; }
  std::int64_t elements() const { return channels * pixels(); }
  bool is_vector() const { return pixels() == 1; }
  /// True if samples may be photographs: files and generated images have three colours and are
  /// square.
  bool is_photograph() const { return channels == 3 && height == width && !is_vector(); }
};

/// The labels of a sample: its class, the class of each of its pixels, or none (the network shall
/// return the sample itself).
enum class Labels { per_sample, per_pixel, none };
/// Number of labels of a sample.
inline std::int64_t labels_of_sample(Labels labels, const InputShape& shape) {
  return labels == Labels::per_sample ? 1 : labels == Labels::none ? 0 : shape.pixels();
}

/// A square image of three colours.
inline InputShape photograph(std::int64_t side) { return {3, side, side}; }
inline InputShape vector_input(std::int64_t elements) { return {elements, 1, 1}; }

}  // namespace assay
