#pragma once
// The arithmetic of tensor cores on fp32, for the fakes of CUDA's libraries.

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace fake {

/// It reads fp32 as a tensor core does: the last 13 digits are not looked at.
inline double tf32(double value) {
  const auto single = static_cast<float>(value);
  std::uint32_t bits;
  std::memcpy(&bits, &single, sizeof bits);
  bits &= 0xffffe000u;
  float cut;
  std::memcpy(&cut, &bits, sizeof cut);
  return cut;
}

/// True if a library computes in fp32 where it was asked for tf32 (FAKE_PROMOTES_TF32).
inline bool promotes_tf32() { return std::getenv("FAKE_PROMOTES_TF32") != nullptr; }

}  // namespace fake
