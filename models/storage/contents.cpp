#include "models/storage/contents.hpp"

#include <algorithm>
#include <cstring>

namespace assay {
namespace {

constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;
constexpr std::size_t word_bytes = 8, words_at_once = 512;

/// splitmix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014).
std::uint64_t mix(std::uint64_t state) {
  state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
  state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
  return state ^ (state >> 31);
}

/// Calls body(offset, words, bytes) for each piece of `count` bytes from `first` on.
template <class Body>
void for_each_piece(std::uint64_t key, std::int64_t first, std::size_t count, const Body& body) {
  std::uint64_t words[words_at_once];
  std::uint64_t state = key + golden * (static_cast<std::uint64_t>(first) / word_bytes);
  for (std::size_t at = 0; at < count; at += sizeof words) {
    for (std::uint64_t& word : words) word = mix(state += golden);
    if (!body(at, words, std::min(sizeof words, count - at))) return;
  }
}

}  // namespace

std::uint64_t contents_key(std::uint64_t seed, std::uint64_t generation, int file) {
  std::uint64_t key = mix(seed + golden);
  key = mix((key ^ generation) + golden);
  return mix((key ^ static_cast<std::uint64_t>(file)) + golden);
}

void fill_contents(std::uint64_t key, std::int64_t first, std::span<std::byte> out) {
  for_each_piece(key, first, out.size(), [&](std::size_t at, const auto& words, std::size_t bytes) {
    std::memcpy(out.data() + at, words, bytes);
    return true;
  });
}

std::int64_t first_difference(std::uint64_t key, std::int64_t first,
                              std::span<const std::byte> bytes) {
  std::int64_t position = -1;
  for_each_piece(
      key, first, bytes.size(), [&](std::size_t at, const auto& words, std::size_t count) {
        if (std::memcmp(bytes.data() + at, words, count) == 0) return true;
        const auto* const expected = reinterpret_cast<const std::byte*>(words);
        const auto place =
            std::mismatch(expected, expected + count, bytes.begin() + std::ptrdiff_t(at));
        position = static_cast<std::int64_t>(at) + (place.first - expected);
        return false;
      });
  return position;
}

}  // namespace assay
