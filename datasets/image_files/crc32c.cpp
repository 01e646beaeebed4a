#include <isa-l/crc.h>

#include <algorithm>

#include "datasets/image_files/image_files.hpp"

namespace assay {

const std::string& why_no_images() {
  static const std::string none;
  return none;
}

std::uint32_t crc32c(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t at_once = std::size_t{1} << 30;  // ISA-L counts in int
  std::uint32_t state = 0xFFFFFFFFu;
  while (!bytes.empty()) {
    const std::size_t count = std::min(at_once, bytes.size());
    // The function does not write, although its parameter is not a pointer to const.
    state = crc32_iscsi(const_cast<unsigned char*>(bytes.data()), static_cast<int>(count), state);
    bytes = bytes.subspan(count);
  }
  return ~state;
}

}  // namespace assay
