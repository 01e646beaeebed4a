#pragma once
// Decodes an encoded image to the input of a network.

#include <cstdint>
#include <memory>

#include "datasets/image_files/image_files.hpp"
#include "datasets/images/resize.hpp"
#include "datasets/images/view.hpp"

namespace assay {

/// Settings for decoding samples. Equal settings give equal bytes, on any number of threads and
/// ranks.
struct DecodeSettings {
  int size = 224;        ///< height and width of the result
  bool training = true;  ///< random views, by `augment`; else the centre
  ImageLayout layout = ImageLayout::nhwc;
  std::uint64_t seed = 1;
  Augment augment = Augment::crop_and_flip;
  std::int64_t elements() const { return std::int64_t{3} * size * size; }
};

/// The part of an image that SampleDecoder decodes.
struct DecodedPart {
  int reduction = 1;  ///< divisor of the sides of the image
  ImageSize size;     ///< of the reduced image
  Crop crop;          ///< in pixels of the reduced image
  bool flip = false;
  PixelBox box;  ///< the pixels from which the crop is resized
};
/// `reduces`: ImageDecoder::reduces().
DecodedPart find_decoded_part(ImageSize image, bool reduces, const DecodeSettings& settings,
                              std::uint64_t epoch, std::int64_t index);

/// Decodes samples one after the other and reuses its memory. Each thread needs its own.
class SampleDecoder {
 public:
  explicit SampleDecoder(const DecodeSettings& settings);
  /// Decodes the view of sample `index` in `epoch`: settings.elements() numbers in fp32, size x
  /// size x 3 (nhwc) or 3 x size x size (nchw). Only the crop of a JPEG is decoded, at 1/8, 1/4 or
  /// 1/2 of its size if the crop then still has `size` pixels. Throws BadSample.
  void decode(std::span<const std::uint8_t> encoded, std::uint64_t epoch, std::int64_t index,
              float* out);

 private:
  DecodeSettings settings_;
  std::unique_ptr<ImageDecoder> decoder_;
  Resizer resizer_;
};

/// The same numbers, bit by bit, computed in another way: the whole image is decoded, at the same
/// reduction, and resized by plain loops in the order that Resizer::resize documents.
void reference_decode(std::span<const std::uint8_t> encoded, const DecodeSettings& settings,
                      std::uint64_t epoch, std::int64_t index, float* out);

}  // namespace assay
