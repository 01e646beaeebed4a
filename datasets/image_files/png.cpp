#include <fmt/format.h>
#include <png.h>

#include <array>
#include <csetjmp>
#include <cstring>

#include "core/base/error.hpp"
#include "datasets/image_files/image_files.hpp"

namespace assay {
namespace {

/// libpng's simplified interface treats 16-bit samples as linear light and applies gAMA. This
/// decoder keeps samples as stored (the upper eight of 16 bits), as Pillow and TensorFlow do, so it
/// ignores all chunks except the palette and transparent colours. libpng is C, so no exception may
/// pass through it: an error jumps over the frames of functions that call setjmp, none of which has
/// an object with a destructor.
class PngDecoder final : public ImageDecoder {
 public:
  PngDecoder() = default;
  ~PngDecoder() override { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  ImageSize open(std::span<const std::uint8_t> encoded) override {
    png_destroy_read_struct(&png_, &info_, nullptr);
    left_ = encoded;
    why_.fill('\0');
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, jump_back,
                                  [](png_structp, png_const_charp) {});
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) throw CaseError(fmt::format("libpng cannot begin ({}).", why_.data()));
    if (!read_header()) refuse();
    const std::int64_t width = png_get_image_width(png_, info_),
                       height = png_get_image_height(png_, info_);
    if (width * height > most_pixels)
      throw BadSample(fmt::format("a PNG of {} x {} pixels is too large", width, height));
    return {static_cast<int>(width), static_cast<int>(height)};
  }

  bool reduces() const override { return false; }

  PixelView decode(int, const PixelBox& box) override {
    const std::size_t stride = png_get_rowbytes(png_, info_);
    rows_.resize(png_get_image_height(png_, info_));
    pixels_.resize(stride * rows_.size());
    for (std::size_t row = 0; row < rows_.size(); ++row) rows_[row] = pixels_.data() + row * stride;
    if (!read_rows()) refuse();
    const auto signed_stride = static_cast<std::int64_t>(stride);
    return {pixels_.data() + box.y * signed_stride + std::int64_t{4} * box.x, signed_stride, box};
  }

 private:
  [[noreturn]] static void jump_back(png_structp png, png_const_charp why) {
    auto& decoder = *static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::strncpy(decoder.why_.data(), why, decoder.why_.size() - 1);
    png_longjmp(png, 1);
  }

  static void next_bytes(png_structp png, png_bytep out, std::size_t count) {
    auto& left = static_cast<PngDecoder*>(png_get_io_ptr(png))->left_;
    if (count > left.size()) png_error(png, "truncated");
    std::memcpy(out, left.data(), count);
    left = left.subspan(count);
  }

  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_benign_errors(png_, 1);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_set_read_fn(png_, this, next_bytes);
    png_read_info(png_, info_);
    png_set_expand(png_);
    png_set_strip_16(png_);
    png_set_gray_to_rgb(png_);
    png_set_filler(png_, 0xFF, PNG_FILLER_AFTER);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  bool read_rows() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_image(png_, rows_.data());
    return true;
  }

  [[noreturn]] void refuse() const {
    throw BadSample(fmt::format("a damaged PNG ({})", why_.data()));
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::span<const std::uint8_t> left_;
  std::array<char, 200> why_{};
  Bytes pixels_;
  std::vector<png_bytep> rows_;
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
  std::unique_ptr<ImageDecoder> jpeg_ = make_jpeg_decoder(), png_ = make_png_decoder();
  ImageDecoder* chosen_ = jpeg_.get();
};

}  // namespace

std::unique_ptr<ImageDecoder> make_png_decoder() { return std::make_unique<PngDecoder>(); }
std::unique_ptr<ImageDecoder> make_image_decoder() { return std::make_unique<AnyDecoder>(); }

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
