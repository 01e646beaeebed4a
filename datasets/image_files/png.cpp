#include <fmt/format.h>
#include <png.h>

#include <cstring>

#include "core/base/error.hpp"
#include "datasets/image_files/image_files.hpp"

namespace assay {
namespace {

class PngDecoder final : public ImageDecoder {
 public:
  ~PngDecoder() override { png_image_free(&image_); }

  ImageSize open(std::span<const std::uint8_t> encoded) override {
    png_image_free(&image_);
    image_ = {};
    image_.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_memory(&image_, encoded.data(), encoded.size()) == 0) refuse();
    if (std::int64_t{image_.width} * image_.height > most_pixels)
      throw BadSample(
          fmt::format("a PNG of {} x {} pixels is too large", image_.width, image_.height));
    return {static_cast<int>(image_.width), static_cast<int>(image_.height)};
  }

  bool reduces() const override { return false; }

  PixelView decode(int, const PixelBox& box) override {
    image_.format = PNG_FORMAT_RGBA;
    pixels_.resize(PNG_IMAGE_SIZE(image_));
    const auto stride = static_cast<std::int64_t>(PNG_IMAGE_ROW_STRIDE(image_));
    if (png_image_finish_read(&image_, nullptr, pixels_.data(), static_cast<int>(stride),
                              nullptr) == 0)
      refuse();
    return {pixels_.data() + box.y * stride + std::int64_t{4} * box.x, stride, box};
  }

 private:
  [[noreturn]] void refuse() const {
    throw BadSample(fmt::format("a damaged PNG ({})", image_.message));
  }

  png_image image_ = {};
  Bytes pixels_;
};

/// Chooses by the first bytes.
class AnyDecoder final : public ImageDecoder {
 public:
  ImageSize open(std::span<const std::uint8_t> encoded) override {
    constexpr std::uint8_t jpeg_begins[] = {0xFF, 0xD8}, png_begins[] = {0x89, 'P', 'N', 'G'};
    const auto begins = [&](std::span<const std::uint8_t> magic) {
      return encoded.size() >= magic.size() &&
             std::memcmp(encoded.data(), magic.data(), magic.size()) == 0;
    };
    if (!begins(jpeg_begins) && !begins(png_begins))
      throw BadSample(fmt::format("neither JPEG nor PNG ({} bytes)", encoded.size()));
    chosen_ = begins(jpeg_begins) ? jpeg_.get() : png_.get();
    return chosen_->open(encoded);
  }
  bool reduces() const override { return chosen_->reduces(); }
  PixelView decode(int reduction, const PixelBox& box) override {
    return chosen_->decode(reduction, box);
  }

 private:
  std::unique_ptr<ImageDecoder> jpeg_ = jpeg_decoder(), png_ = png_decoder();
  ImageDecoder* chosen_ = jpeg_.get();
};

}  // namespace

std::unique_ptr<ImageDecoder> png_decoder() { return std::make_unique<PngDecoder>(); }
std::unique_ptr<ImageDecoder> image_decoder() { return std::make_unique<AnyDecoder>(); }

Bytes encode_png(std::span<const std::uint8_t> pixels, ImageSize size) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(size.width);
  image.height = static_cast<png_uint_32>(size.height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  Bytes out(bytes);
  if (png_image_write_to_memory(&image, out.data(), &bytes, 0, pixels.data(), 0, nullptr) == 0)
    throw CaseError(fmt::format("libpng cannot encode an image of {} x {} pixels ({}).", size.width,
                                size.height, image.message));
  out.resize(bytes);
  return out;
}

}  // namespace assay
