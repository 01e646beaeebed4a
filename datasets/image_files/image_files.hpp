#pragma once
// Decoding and encoding of images and records in memory, by libjpeg-turbo, libpng, protobuf and
// ISA-L. Pixels are 8-bit R, G, B and an unused fourth byte, row-major.

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay {

using Bytes = std::vector<std::uint8_t>;

/// The reason why this build cannot read images ("built without JPEG: run …"); "" if it can. If
/// there is a reason, all functions below except crc32c() throw CaseError "unsupported: …".
const std::string& why_no_images();

/// A sample cannot be used: it is truncated, damaged, of an unknown kind, or lacks a feature.
class BadSample : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ImageSize {
  int width = 0, height = 0;
  bool operator==(const ImageSize&) const = default;
};

/// Columns [x, x + width) and rows [y, y + height).
struct PixelBox {
  int x = 0, y = 0, width = 0, height = 0;
};

/// Decoded pixels: those of `box`, and perhaps more columns. Valid until the decoder's next call.
struct PixelView {
  const std::uint8_t* first = nullptr;  ///< the pixel (box.x, box.y): R, G, B, -
  std::int64_t stride = 0;              ///< bytes from a row to the next
  PixelBox box;
};

/// Most pixels of an image, so that a damaged header cannot request all memory.
constexpr std::int64_t most_pixels = std::int64_t{1} << 28;

/// Decodes images one after the other and reuses its memory. Each thread needs its own.
class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;
  /// Reads the header of an image, whose bytes must stay valid until decode() returns. Throws
  /// BadSample.
  virtual ImageSize open(std::span<const std::uint8_t> encoded) = 0;
  /// True if decode() accepts reductions above 1.
  virtual bool reduces() const = 0;
  /// Decodes the pixels of `box` (not empty, within the image) of the opened image, whose sides are
  /// divided by `reduction` (1, 2, 4 or 8) and rounded up. Call it once after each open(). Throws
  /// BadSample.
  virtual PixelView decode(int reduction, const PixelBox& box) = 0;
};

/// JPEG: grey, YCbCr, RGB, and CMYK and YCCK as Adobe writes them; sequential and progressive. A
/// reduced image is computed by a smaller inverse DCT. A box has the same pixels as in the whole
/// image. Truncated data are refused, even after the end of the box.
std::unique_ptr<ImageDecoder> make_jpeg_decoder();
/// PNG of any kind, as 8-bit colours; transparency is ignored.
std::unique_ptr<ImageDecoder> make_png_decoder();
/// Decodes both. The first bytes of the image decide, not the name: a few .JPEG files of ImageNet
/// are PNG.
std::unique_ptr<ImageDecoder> make_image_decoder();

/// Rows of R, G, B, three bytes each: those of `box`, and perhaps more columns.
struct RgbView {
  const std::uint8_t* first = nullptr;  ///< the pixel (box.x, box.y)
  std::int64_t stride = 0;              ///< bytes from a row to the next
  PixelBox box;
};

/// libjpeg-turbo alone, used like the loop of its example.c: one object and one buffer for all
/// images, one row per call, only libjpeg's own checks. Decoders are compared with it.
class BareJpegLoop {
 public:
  virtual ~BareJpegLoop() = default;
  /// Decodes a JPEG of one or three colours at 1/`reduction` of its sides: the pixels of `box`, or
  /// all pixels if the box is 0 wide. The view is valid until the next call. Throws BadSample if
  /// libjpeg refuses the image.
  virtual RgbView decode(std::span<const std::uint8_t> encoded, int reduction = 1,
                         const PixelBox& box = {}) = 0;
};
std::unique_ptr<BareJpegLoop> make_bare_jpeg_loop();

enum class JpegColours { ycbcr, grey, cmyk, ycck };
/// `pixels`: width * height * 3 bytes R, G, B. `quality`: 1 to 100; up to 95 chroma is halved in
/// both directions. Grey is the luminance; CMYK has K = 0 and is inverted, as Adobe writes it.
Bytes encode_jpeg(std::span<const std::uint8_t> pixels, ImageSize size, int quality,
                  JpegColours colours = JpegColours::ycbcr, bool progressive = false);
Bytes encode_png(std::span<const std::uint8_t> pixels, ImageSize size);

/// CRC-32C (RFC 3720, B.4).
std::uint32_t crc32c(std::span<const std::uint8_t> bytes);

/// The parts of a tf.Example that describe an image and its class.
struct ImageExample {
  std::string encoded;
  std::int64_t label = 0;
};
/// Reads the features "image/encoded" (one text) and "image/class/label" (one integer). Throws
/// BadSample if the bytes are not a tf.Example, or if a feature is missing.
void parse_example(std::span<const std::uint8_t> bytes, ImageExample& example);
/// The bytes of a tf.Example; equal examples have equal bytes. `format`: "JPEG" or "PNG", the
/// feature "image/format".
std::string example_bytes(const ImageExample& example, ImageSize size, const std::string& format);

}  // namespace assay
