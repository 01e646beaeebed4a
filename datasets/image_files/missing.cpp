// Replaces the other sources if a library is missing.

#include <boost/crc.hpp>

#include "core/base/error.hpp"
#include "datasets/image_files/image_files.hpp"

namespace assay {
namespace {

[[noreturn]] void refuse_images() { throw CaseError("unsupported: " + why_no_images()); }

}  // namespace

const std::string& why_no_images() {
  static const std::string why = "this build reads and writes no images (" ASSAY_IMAGES_MISSING
                                 "). Configure again with the libraries.";
  return why;
}

std::unique_ptr<ImageDecoder> make_jpeg_decoder() { refuse_images(); }
std::unique_ptr<ImageDecoder> make_png_decoder() { refuse_images(); }
std::unique_ptr<ImageDecoder> make_image_decoder() { refuse_images(); }
std::unique_ptr<BareJpegLoop> make_bare_jpeg_loop() { refuse_images(); }
Bytes encode_jpeg(std::span<const std::uint8_t>, ImageSize, int, JpegColours, bool) {
  refuse_images();
}
Bytes encode_png(std::span<const std::uint8_t>, ImageSize) { refuse_images(); }

// Checkpoints need this function in every build. Boost takes about ten times as long as ISA-L.
std::uint32_t crc32c(std::span<const std::uint8_t> bytes) {
  boost::crc_optimal<32, 0x1EDC6F41u, 0xFFFFFFFFu, 0xFFFFFFFFu, true, true> sum;
  sum.process_bytes(bytes.data(), bytes.size());
  return sum.checksum();
}

void parse_example(std::span<const std::uint8_t>, ImageExample&) { refuse_images(); }
std::string example_bytes(const ImageExample&, ImageSize, const std::string&) { refuse_images(); }

}  // namespace assay
