#include "models/network/claimed_mask.hpp"

#include <array>
#include <cmath>

namespace assay {
namespace {

constexpr std::uint64_t low_half = (std::uint64_t{1} << 32) - 1;

/// The multiplication and the two exchanges of Philox4x32, ten times (J. K. Salmon et al., Parallel
/// random numbers: as easy as 1, 2, 3, SC11, table 2 and figure 2).
std::array<std::uint64_t, 4> philox(std::array<std::uint64_t, 4> r, std::uint64_t left,
                                    std::uint64_t right) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = r[0] * 0xd2511f53, second = r[2] * 0xcd9e8d57;
    r = {(second >> 32) ^ r[1] ^ left, second & low_half, (first >> 32) ^ r[3] ^ right,
         first & low_half};
    left = (left + 0x9e3779b9) & low_half;
    right = (right + 0xbb67ae85) & low_half;
  }
  return r;
}

}  // namespace

ClaimedMask::ClaimedMask(const std::string& layer, std::uint64_t seed, std::int64_t rank)
    : of_layer_(14695981039346656037u), of_rank_(static_cast<std::uint64_t>(rank)) {
  for (const char letter : layer + " " + std::to_string(seed)) {
    of_layer_ ^= static_cast<unsigned char>(letter);
    of_layer_ *= 1099511628211u;
  }
  of_layer_ &= low_half;
}

bool ClaimedMask::keeps(std::int64_t pass, std::int64_t element, double p) const {
  const auto four = static_cast<std::uint64_t>(element / 4);
  const std::array<std::uint64_t, 4> words = philox(
      {four & low_half, four >> 32, static_cast<std::uint64_t>(pass), 0}, of_layer_, of_rank_);
  return static_cast<double>(words[static_cast<std::size_t>(element % 4)]) >=
         std::round(std::ldexp(p, 32));
}

}  // namespace assay
