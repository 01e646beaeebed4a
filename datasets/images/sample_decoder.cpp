#include "datasets/images/sample_decoder.hpp"

#include <vector>

namespace assay {
namespace {

View make_view(ImageSize image, const DecodeSettings& settings, std::uint64_t epoch,
               std::int64_t index) {
  return settings.training ? training_view(image, settings.seed, epoch, index, settings.augment)
                           : evaluation_view(image);
}

ImageSize reduce_size(ImageSize image, int reduction) {
  return {(image.width + reduction - 1) / reduction, (image.height + reduction - 1) / reduction};
}

}  // namespace

DecodedPart find_decoded_part(ImageSize image, bool reduces, const DecodeSettings& settings,
                              std::uint64_t epoch, std::int64_t index) {
  const View view = make_view(image, settings, epoch, index);
  const Crop& crop = view.crop;
  DecodedPart decoded;
  if (reduces) decoded.reduction = reduction_for(crop, settings.size);
  const double part = 1.0 / decoded.reduction;
  decoded.size = reduce_size(image, decoded.reduction);
  decoded.crop = {crop.x * part, crop.y * part, crop.width * part, crop.height * part};
  decoded.flip = view.flip;
  decoded.box = Resizer::box(decoded.size, decoded.crop.x, decoded.crop.y, decoded.crop.width,
                             decoded.crop.height);
  return decoded;
}

SampleDecoder::SampleDecoder(const DecodeSettings& settings)
    : settings_(settings), decoder_(make_image_decoder()) {}

void SampleDecoder::decode(std::span<const std::uint8_t> encoded, std::uint64_t epoch,
                           std::int64_t index, float* out) {
  const ImageSize image = decoder_->open(encoded);
  const DecodedPart part = find_decoded_part(image, decoder_->reduces(), settings_, epoch, index);
  const PixelView pixels = decoder_->decode(part.reduction, part.box);
  resizer_.resize(pixels, part.size, part.crop.x, part.crop.y, part.crop.width, part.crop.height,
                  part.flip, settings_.size, settings_.layout, out);
}

void reference_decode(std::span<const std::uint8_t> encoded, const DecodeSettings& settings,
                      std::uint64_t epoch, std::int64_t index, float* out) {
  const std::unique_ptr<ImageDecoder> decoder = make_image_decoder();
  const ImageSize image = decoder->open(encoded);
  const View view = make_view(image, settings, epoch, index);
  const int reduction = decoder->reduces() ? reduction_for(view.crop, settings.size) : 1;
  const ImageSize small = reduce_size(image, reduction);
  const PixelView pixels = decoder->decode(reduction, {0, 0, small.width, small.height});
  ResizeAxis columns, rows;
  resize_axis(view.crop.x / reduction, view.crop.width / reduction, small.width, settings.size,
              false, columns);
  resize_axis(view.crop.y / reduction, view.crop.height / reduction, small.height, settings.size,
              false, rows);
  const int size = settings.size;
  std::vector<float> line(3 * static_cast<std::size_t>(small.width));
  for (std::int64_t v = 0; v < size; ++v) {
    const float* const row_weights = rows.weights.data() + v * rows.taps;
    const std::uint8_t* const first =
        pixels.first + rows.first[static_cast<std::size_t>(v)] * pixels.stride;
    for (std::int64_t u = 0; u < small.width; ++u)
      for (int c = 0; c < 3; ++c) {
        float sum = 0;
        for (int j = 0; j < rows.taps; ++j)
          sum += row_weights[j] * static_cast<float>(first[j * pixels.stride + 4 * u + c]);
        line[static_cast<std::size_t>(3 * u + c)] = sum;
      }
    for (std::int64_t u = 0; u < size; ++u)
      for (int c = 0; c < 3; ++c) {
        float sum = 0;
        for (int i = 0; i < columns.taps; ++i)
          sum += columns.weights[static_cast<std::size_t>(u * columns.taps + i)] *
                 line[static_cast<std::size_t>(
                     3 * (columns.first[static_cast<std::size_t>(u)] + i) + c)];
        const std::int64_t to = view.flip ? size - 1 - u : u;
        const std::int64_t at = settings.layout == ImageLayout::nhwc
                                    ? 3 * (v * size + to) + c
                                    : (std::int64_t{c} * size + v) * size + to;
        out[at] = sum * normal_scale(c) - normal_shift(c);
      }
  }
}

}  // namespace assay
