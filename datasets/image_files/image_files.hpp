#pragma once
// Images and records in memory: what libjpeg-turbo, libpng, protobuf and ISA-L do for the data
// sets. Pixels are 8-bit R, G, B and a fourth byte without meaning, row-major.

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay {

using Bytes = std::vector<std::uint8_t>;

/// Why this build can read no images ("built without JPEG: run …"), or empty. Where it is not
/// empty, every function below but crc32c() throws CaseError "unsupported: …".
const std::string& why_no_images();

/// One sample cannot be used: truncated, damaged, of an unknown kind, without a feature.
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

/// Decoded pixels: those of `box` are there, perhaps more columns. Valid until the decoder's next
/// call.
struct PixelView {
  const std::uint8_t* first = nullptr;  ///< the pixel (box.x, box.y): R, G, B, -
  std::int64_t stride = 0;              ///< bytes from a row to the next
  PixelBox box;
};

/// The most pixels that an image may have: a damaged header must not ask for all memory.
constexpr std::int64_t most_pixels = std::int64_t{1} << 28;

/// Decodes one image after the other in memory that it keeps; each thread has its own.
class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;
  /// Reads the header of an image, whose bytes must stay until decode() returns. BadSample.
  virtual ImageSize open(std::span<const std::uint8_t> encoded) = 0;
  /// Whether decode() takes reductions above 1.
  virtual bool reduces() const = 0;
  /// The pixels of `box` (not empty, within the image) of the opened image, whose sides are divided
  /// by `reduction` (1, 2, 4 or 8) and rounded up. Once for each open(). BadSample.
  virtual PixelView decode(int reduction, const PixelBox& box) = 0;
};

/// JPEG: grey, YCbCr, RGB, and CMYK and YCCK as Adobe writes them; sequential and progressive; a
/// reduced image is a smaller inverse DCT. The pixels of a box are those of the whole image.
/// Truncated data are refused, even behind the box.
std::unique_ptr<ImageDecoder> jpeg_decoder();
/// PNG of any kind, as 8-bit colours; transparency is ignored.
std::unique_ptr<ImageDecoder> png_decoder();
/// Both, by the first bytes of the image (names do not count: a few JPEG files of ImageNet are
/// PNG).
std::unique_ptr<ImageDecoder> image_decoder();

enum class JpegColours { ycbcr, grey, cmyk, ycck };
/// `pixels`: width * height * 3 bytes R, G, B. `quality` 1 to 100, chroma halved in both directions
/// (but for quality above 95). Grey is the luminance; CMYK has K = 0 and is inverted, as Adobe
/// does.
Bytes encode_jpeg(std::span<const std::uint8_t> pixels, ImageSize size, int quality,
                  JpegColours colours = JpegColours::ycbcr, bool progressive = false);
Bytes encode_png(std::span<const std::uint8_t> pixels, ImageSize size);

/// CRC-32C (RFC 3720, B.4).
std::uint32_t crc32c(std::span<const std::uint8_t> bytes);

/// A tf.Example, as far as it describes an image and its class.
struct ImageExample {
  std::string encoded;
  std::int64_t label = 0;
};
/// The features "image/encoded" (one text) and "image/class/label" (one integer). BadSample: not a
/// tf.Example, or one of them is missing.
void parse_example(std::span<const std::uint8_t> bytes, ImageExample& example);
/// The same bytes for the same example. `format`: "JPEG" or "PNG", the feature "image/format".
std::string example_bytes(const ImageExample& example, ImageSize size, const std::string& format);

}  // namespace assay
