#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/base/error.hpp"
#include "datasets/image_files/image_files.hpp"
#include "datasets/image_files/jpeg_error.hpp"

namespace assay {
namespace {

// Interpolating the chroma of a column needs the next chroma column, two columns of the image. With
// this margin, the columns of a box equal those of the whole image.
constexpr int margin = 2;

/// a * b / 255, rounded.
std::uint8_t product_of_255(int a, int b) {
  const int sum = a * b + 128;
  return static_cast<std::uint8_t>((sum + (sum >> 8)) >> 8);
}

/// A decompressor of libjpeg. libjpeg jumps over the frames of functions that call setjmp here and
/// below: none has an object with a destructor.
class Decompressor {
 public:
  Decompressor() {
    info_.err = prepare_errors(errors_);
    if (setjmp(errors_.back) != 0)
      throw CaseError(fmt::format("libjpeg cannot begin ({}).", errors_.text));
    jpeg_create_decompress(&info_);
  }
  ~Decompressor() { jpeg_destroy_decompress(&info_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

 protected:
  bool read_header(std::span<const std::uint8_t> encoded) {
    if (setjmp(errors_.back) != 0) return false;
    jpeg_abort_decompress(&info_);  // discards the state of the last image
    jpeg_mem_src(&info_, encoded.data(), static_cast<unsigned long>(encoded.size()));
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  /// Begins to decode at least the columns of the box in each row; all columns if the box is empty.
  bool start(J_COLOR_SPACE colours, int reduction, const PixelBox& box) {
    if (setjmp(errors_.back) != 0) return false;
    info_.out_color_space = colours;
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(reduction);
    jpeg_start_decompress(&info_);
    left_ = 0;
    if (box.width == 0) return true;
    const int right = std::min(box.x + box.width + margin, static_cast<int>(info_.output_width));
    left_ = std::max(box.x - margin, 0);
    if (left_ > 0 || right < static_cast<int>(info_.output_width)) {
      auto first = static_cast<JDIMENSION>(left_), width = static_cast<JDIMENSION>(right - left_);
      jpeg_crop_scanline(&info_, &first, &width);  // moves `first` back to the beginning of a block
      left_ = static_cast<int>(first);
    }
    return true;
  }

  [[noreturn]] void refuse() const {
    throw BadSample(fmt::format("a damaged JPEG ({})", errors_.text));
  }

  jpeg_decompress_struct info_ = {};
  JpegErrors errors_ = {};
  int left_ = 0;  ///< column of the image at which the decoded rows begin
};

class JpegDecoder final : public ImageDecoder, Decompressor {
 public:
  ImageSize open(std::span<const std::uint8_t> encoded) override {
    if (!read_header(encoded)) refuse();
    // Coded data begins behind the first scan header. An FF in coded data is always followed by 0,
    // so FF D9 is the end marker. Data without it are truncated, even if the missing part would not
    // be decoded.
    constexpr std::uint8_t end_of_image[] = {0xFF, 0xD9};
    const std::uint8_t* const from = info_.src->next_input_byte;
    const std::uint8_t* const to = from + info_.src->bytes_in_buffer;
    if (std::find_end(from, to, std::begin(end_of_image), std::end(end_of_image)) == to)
      throw BadSample("a truncated JPEG (no end-of-image marker)");
    const ImageSize size{static_cast<int>(info_.image_width), static_cast<int>(info_.image_height)};
    if (std::int64_t{size.width} * size.height > most_pixels)
      throw BadSample(
          fmt::format("a JPEG of {} x {} pixels is too large", size.width, size.height));
    return size;
  }

  bool reduces() const override { return true; }

  PixelView decode(int reduction, const PixelBox& box) override {
    const bool four = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    if (!start(four ? JCS_CMYK : JCS_EXT_RGBX, reduction, box)) refuse();
    const std::int64_t stride = std::int64_t{4} * info_.output_width;
    pixels_.resize(static_cast<std::size_t>(stride * box.height));
    rows_.resize(static_cast<std::size_t>(box.height));
    for (int row = 0; row < box.height; ++row)
      rows_[static_cast<std::size_t>(row)] = pixels_.data() + row * stride;
    if (!read_rows(box)) refuse();
    if (info_.out_color_space == JCS_CMYK) from_cmyk();
    return {pixels_.data() + std::int64_t{4} * (box.x - left_), stride, box};
  }

 private:
  bool read_rows(const PixelBox& box) {
    if (setjmp(errors_.back) != 0) return false;
    if (box.y > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(box.y));
    JDIMENSION done = 0;
    while (done < static_cast<JDIMENSION>(box.height))
      done += jpeg_read_scanlines(&info_, rows_.data() + done,
                                  static_cast<JDIMENSION>(box.height) - done);
    return true;
  }

  /// Adobe stores 255 - C, and so on. So R is C * K / 255 of the stored C and K.
  void from_cmyk() {
    const int flip = info_.saw_Adobe_marker ? 0 : 255;
    for (std::size_t i = 0; i < pixels_.size(); i += 4)
      for (std::size_t c = 0; c < 3; ++c)
        pixels_[i + c] = product_of_255(pixels_[i + c] ^ flip, pixels_[i + 3] ^ flip);
  }

  Bytes pixels_;
  std::vector<JSAMPROW> rows_;
};

class ExampleLoop final : public BareJpegLoop, Decompressor {
 public:
  RgbView decode(std::span<const std::uint8_t> encoded, int reduction,
                 const PixelBox& box) override {
    if (!read_header(encoded) || !start(JCS_RGB, reduction, box)) refuse();
    box_ = box;
    if (box.width == 0)
      box_ = {0, 0, static_cast<int>(info_.output_width), static_cast<int>(info_.output_height)};
    stride_ = std::int64_t{3} * info_.output_width;
    pixels_.resize(static_cast<std::size_t>(stride_ * box_.height));
    if (!read_rows()) refuse();
    return {pixels_.data() + std::int64_t{3} * (box_.x - left_), stride_, box_};
  }

 private:
  bool read_rows() {
    if (setjmp(errors_.back) != 0) return false;
    if (box_.y > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(box_.y));
    while (info_.output_scanline < static_cast<JDIMENSION>(box_.y + box_.height)) {
      JSAMPROW row = pixels_.data() + stride_ * (info_.output_scanline - box_.y);
      jpeg_read_scanlines(&info_, &row, 1);
    }
    if (info_.output_scanline == info_.output_height) jpeg_finish_decompress(&info_);
    return true;
  }

  PixelBox box_;
  std::int64_t stride_ = 0;  ///< bytes of a decoded row
  Bytes pixels_;
};

}  // namespace

std::unique_ptr<ImageDecoder> make_jpeg_decoder() { return std::make_unique<JpegDecoder>(); }
std::unique_ptr<BareJpegLoop> make_bare_jpeg_loop() { return std::make_unique<ExampleLoop>(); }

}  // namespace assay
