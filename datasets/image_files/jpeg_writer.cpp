#include <fmt/format.h>

#include <cstdlib>

#include "core/base/error.hpp"
#include "datasets/image_files/image_files.hpp"
#include "datasets/image_files/jpeg_error.hpp"

namespace assay {
namespace {

// libjpeg jumps over its frame: it has no object with a destructor.
bool compress(jpeg_compress_struct& info, JpegErrors& errors, const std::uint8_t* pixels, int width,
              int height, int components, int quality, JpegColours colours, bool progressive,
              unsigned char** out, unsigned long* size) {
  if (setjmp(errors.back) != 0) return false;
  jpeg_mem_dest(&info, out, size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = components;
  info.in_color_space = components == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  if (colours == JpegColours::grey) jpeg_set_colorspace(&info, JCS_GRAYSCALE);
  if (colours == JpegColours::ycck) jpeg_set_colorspace(&info, JCS_YCCK);
  jpeg_set_quality(&info, quality, TRUE);
  if (quality > 95 && colours != JpegColours::grey)
    info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
  if (progressive) jpeg_simple_progression(&info);
  if (components == 4) info.write_Adobe_marker = TRUE;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row =
        const_cast<std::uint8_t*>(pixels) +
        static_cast<std::size_t>(info.next_scanline) * static_cast<std::size_t>(width * components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

Bytes encode_jpeg(std::span<const std::uint8_t> pixels, ImageSize size, int quality,
                  JpegColours colours, bool progressive) {
  Bytes inks;
  const bool four = colours == JpegColours::cmyk || colours == JpegColours::ycck;
  if (four)  // C = 255 - R, stored inverted: R itself; K = 0, stored as 255
    for (std::size_t i = 0; i < pixels.size(); i += 3)
      inks.insert(inks.end(), {pixels[i], pixels[i + 1], pixels[i + 2], 255});
  JpegErrors errors = {};
  jpeg_compress_struct info = {};
  info.err = prepare_errors(errors);
  jpeg_create_compress(&info);
  unsigned char* out = nullptr;
  unsigned long bytes = 0;
  const bool good =
      compress(info, errors, four ? inks.data() : pixels.data(), size.width, size.height,
               four ? 4 : 3, quality, colours, progressive, &out, &bytes);
  Bytes encoded;
  if (good) encoded.assign(out, out + bytes);
  std::free(out);
  jpeg_destroy_compress(&info);
  if (!good)
    throw CaseError(fmt::format("libjpeg cannot encode an image of {} x {} pixels ({}).",
                                size.width, size.height, errors.text));
  return encoded;
}

}  // namespace assay
