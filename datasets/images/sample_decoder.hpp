#pragma once
// From an encoded image to what a network reads.

#include <cstdint>
#include <memory>

#include "datasets/image_files/image_files.hpp"
#include "datasets/images/resize.hpp"
#include "datasets/images/view.hpp"

namespace assay {

/// How samples are decoded. Equal settings give equal bytes, on any number of threads and ranks.
struct DecodeSettings {
  int size = 224;        ///< of the result, height and width
  bool training = true;  ///< random views (`augment`), else the centre
  ImageLayout layout = ImageLayout::nhwc;
  std::uint64_t seed = 1;
  Augment augment = Augment::crop_and_flip;
  std::int64_t elements() const { return std::int64_t{3} * size * size; }
};

/// Decodes one sample after the other in memory that it keeps; each thread has its own.
class SampleDecoder {
 public:
  explicit SampleDecoder(const DecodeSettings& settings);
  /// Sample `index` as it is seen in `epoch`: settings.elements() numbers in fp32, size x size x 3
  /// (NHWC) or 3 x size x size. A JPEG is decoded at 1/8, 1/4 or 1/2 of its size where the crop
  /// then still has `size` pixels, and only where the crop is. BadSample.
  void decode(std::span<const std::uint8_t> encoded, std::uint64_t epoch, std::int64_t index,
              float* out);

 private:
  DecodeSettings settings_;
  std::unique_ptr<ImageDecoder> decoder_;
  Resizer resizer_;
};

/// The same numbers, bit by bit, by another path: the whole image is decoded, at the same
/// reduction, and resized by plain loops in the order that Resizer::resize promises.
void reference_decode(std::span<const std::uint8_t> encoded, const DecodeSettings& settings,
                      std::uint64_t epoch, std::int64_t index, float* out);

}  // namespace assay
