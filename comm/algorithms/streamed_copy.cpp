#include "comm/algorithms/streamed_copy.hpp"

#include <unistd.h>

#include <cstring>
#include <limits>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace assay {

#ifdef __SSE2__

void copy_streamed(Buffer into, Buffer from) {
  auto* out = static_cast<std::byte*>(into.data);
  const auto* in = static_cast<const std::byte*>(from.data);
  std::size_t left = from.bytes();
  constexpr std::size_t line = streamed_line;
  const auto copy = [&](std::size_t bytes) {
    std::memcpy(out, in, bytes);
    out += bytes;
    in += bytes;
    left -= bytes;
  };
  if (left < 2 * line) return copy(left);
  copy(before_streamed_line(out));
  for (; left >= line; out += line, in += line, left -= line) {
    const auto* const source = reinterpret_cast<const __m128i*>(in);
    auto* const target = reinterpret_cast<__m128i*>(out);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1),
                  c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  copy(left);
}

void fence_streamed() { _mm_sfence(); }

std::size_t find_least_streamed_bytes() {
  const long known = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return known > 0 ? static_cast<std::size_t>(known) : std::size_t{1} << 20;
}

#else

void copy_streamed(Buffer into, Buffer from) {
  if (from.count > 0) std::memcpy(into.data, from.data, from.bytes());
}

void fence_streamed() {}

std::size_t find_least_streamed_bytes() { return std::numeric_limits<std::size_t>::max(); }

#endif

}  // namespace assay
