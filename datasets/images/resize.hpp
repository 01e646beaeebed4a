#pragma once
// Bilinear resizing with a filter that widens when an image becomes smaller, as in PIL and in
// torchvision with `antialias=True`.

#include <vector>

#include "datasets/image_files/image_files.hpp"

namespace assay {

enum class ImageLayout { nhwc, nchw };

/// Mean and standard deviation of ImageNet's colours R, G, B, of values from 0 to 1.
inline constexpr float imagenet_mean[] = {0.485F, 0.456F, 0.406F};
inline constexpr float imagenet_deviation[] = {0.229F, 0.224F, 0.225F};
/// A colour v from 0 to 255 becomes v * scale - shift, both in fp32.
inline constexpr float normal_scale(int c) { return 1 / (255 * imagenet_deviation[c]); }
inline constexpr float normal_shift(int c) { return imagenet_mean[c] / imagenet_deviation[c]; }

/// The pixels of one axis that make up each pixel of the result: out[i] is the sum over k < taps of
/// weights[i * taps + k] * in[first[i] + k]. If fewer than `taps` pixels contribute, the last
/// weights are 0; their pixels are within the axis.
struct ResizeAxis {
  int taps = 0;
  std::vector<int> first;
  std::vector<float> weights;
};

/// Resizes `length` pixels that begin at `start` (both may be fractions) to `size` pixels. The
/// filter is a triangle, two pixels of the result or of the input wide, whichever are larger; it is
/// cut off at the ends of the part and normalised. Pixels are numbered from 0 to `pixels` - 1.
/// `flip`: the result is from last to first.
void resize_axis(double start, double length, int pixels, int size, bool flip, ResizeAxis& axis);

/// Resizes and normalises images; reuses its memory.
class Resizer {
 public:
  /// Resizes the part [x, x + width) x [y, y + height) of an image of size `image` to `size` x
  /// `size` x 3 numbers in `out`. The first pixel of `pixels` is at (box.x, box.y) of the image.
  /// Sums are computed in fp32 in the order of the pixels, first along columns; products are
  /// rounded before they are added. So the result is the same on every processor.
  void resize(const PixelView& pixels, ImageSize image, double x, double y, double width,
              double height, bool flip, int size, ImageLayout layout, float* out);

  /// The pixels that resize() reads.
  static PixelBox box(ImageSize image, double x, double y, double width, double height);

 private:
  ResizeAxis columns_, rows_;
  std::vector<float> line_;
};

}  // namespace assay
