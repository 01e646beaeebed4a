// Peak of the tile units of x86 (AMX): products of 16 x K and K x 16 matrices of bf16 (K = 32) or
// bytes (K = 64), which add 16 dot products of two, or of four, to each of 256 sums.

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "kernels/native/stream.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <hwy/base.h>
#include <hwy/highway.h>
#endif

#include <algorithm>
#include <cmath>

namespace assay::native {

#if defined(__x86_64__) && defined(__linux__)
namespace {

constexpr int rows = 16, row_bytes = 64;
constexpr std::ptrdiff_t sums = 256;
/// Groups of elements (pairs of bf16, fours of bytes) in a row: the updates of one product.
constexpr std::int64_t together = 16;
/// On the first processors with tiles, products start every 16 cycles and take 52, so four tiles
/// would suffice.
constexpr int tiles = 6;
static_assert(stream_values == tiles * sums);

/// Sums are in tiles 0 to 5, the factors in 6 and 7; all tiles are full.
struct alignas(64) Configuration {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes_of_row[16] = {};
  std::uint8_t row_counts[16] = {};
  Configuration() {
    std::fill_n(bytes_of_row, 8, row_bytes);
    std::fill_n(row_counts, 8, rows);
  }
};

/// The operands. All rows of `first` are equal; row p of `second` is the p-th group of every
/// column.
struct alignas(64) Factors {
  std::uint32_t first[rows][16], second[rows][16];

  /// Groups alternately add and subtract; only the first `updates` of them are not zero.
  Factors(std::uint32_t left, std::uint32_t right, std::uint32_t back, std::int64_t updates) {
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < 16; ++column) {
        first[row][column] = left;
        second[row][column] = row >= updates ? 0 : row % 2 == 0 ? right : back;
      }
  }
};

Factors choose_factors(Precision precision, std::int64_t updates) {
  const DotConstants c = dot_constants(precision);
  return {dot_group(precision, c.first), dot_group(precision, c.second),
          dot_group(precision, c.back), updates};
}

}  // namespace

HWY_PUSH_ATTRIBUTES("amx-tile,amx-bf16,amx-int8")
namespace {

// Instructions name their tiles, so a loop over tiles is impossible.
#define ASSAY_TILES(DO, argument) \
  DO(0, argument)                 \
  DO(1, argument)                 \
  DO(2, argument)                 \
  DO(3, argument)                 \
  DO(4, argument)                 \
  DO(5, argument)
#define ASSAY_LOAD(tile, y) _tile_loadd(tile, (y) + (tile)*sums, row_bytes);
#define ASSAY_STORE(tile, y) _tile_stored(tile, (y) + (tile)*sums, row_bytes);
#define ASSAY_MULTIPLY(tile, product) product(tile, 6, 7);
// y += the whole products, and one product for the rest, whose other rows are zero.
#define ASSAY_RUN(y, updates, whole, rest, product)         \
  static const Configuration configuration;                 \
  _tile_loadconfig(&configuration);                         \
  ASSAY_TILES(ASSAY_LOAD, y)                                \
  _tile_loadd(6, (whole).first, row_bytes);                 \
  _tile_loadd(7, (whole).second, row_bytes);                \
  for (std::int64_t i = 0; i < (updates) / together; ++i) { \
    ASSAY_TILES(ASSAY_MULTIPLY, product)                    \
  }                                                         \
  if ((updates) % together != 0) {                          \
    _tile_loadd(7, (rest).second, row_bytes);               \
    ASSAY_TILES(ASSAY_MULTIPLY, product)                    \
  }                                                         \
  ASSAY_TILES(ASSAY_STORE, y)                               \
  _tile_release();

void run_bf16(const void* x, void* y, std::int64_t updates) {
  static const Factors whole = choose_factors(Precision::bf16, together);
  const Factors rest = choose_factors(Precision::bf16, updates % together);
  const auto* const from = static_cast<const float*>(x);
  auto* const to = static_cast<float*>(y);
  for (std::int64_t i = 0; i < stream_values; ++i)
    to[i] = std::nearbyint(from[i] * 0x1p20F) * 0x1p-14F;
  ASSAY_RUN(to, updates, whole, rest, _tile_dpbf16ps)
}

void run_int8(const void* x, void* y, std::int64_t updates) {
  static const Factors whole = choose_factors(Precision::int8, together);
  const Factors rest = choose_factors(Precision::int8, updates % together);
  auto* const to = static_cast<std::int32_t*>(y);
  std::copy_n(static_cast<const std::int32_t*>(x), stream_values, to);
  ASSAY_RUN(to, updates, whole, rest, _tile_dpbusd)
}

#undef ASSAY_RUN
#undef ASSAY_MULTIPLY
#undef ASSAY_STORE
#undef ASSAY_LOAD
#undef ASSAY_TILES

}  // namespace
HWY_POP_ATTRIBUTES

std::optional<Result<Registers>> tile_registers(Precision precision) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return std::nullopt;
  const bool bf16 = (d >> 22 & 1) != 0, int8 = (d >> 25 & 1) != 0;
  const bool fp16 = a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 21 & 1) != 0;
  // A peak without the faster unit would be no ceiling.
  if (precision == Precision::fp16 && fp16)
    return Unsupported{
        "this processor has AMX tiles for fp16, whose peak is not measured yet (that of its "
        "vectors would be no ceiling)."};
  if (!(precision == Precision::bf16 && bf16) && !(precision == Precision::int8 && int8))
    return std::nullopt;
  // On Linux a process must request tiles before it uses them (Documentation/arch/x86/xstate.rst).
  constexpr long request_permission = 0x1023, tile_data = 18;
  if (syscall(SYS_arch_prctl, request_permission, tile_data) != 0)
    return Unsupported{
        fmt::format("this processor has AMX tiles, but the system does not permit "
                    "their use ({}).",
                    std::strerror(errno))};
  constexpr int bits = rows * row_bytes * 8;
  if (precision == Precision::bf16)
    return Registers{&run_bf16, "AMX_BF16", "bf16", "fp32", bits, tiles};
  return Registers{&run_int8, "AMX_INT8", "int8", "s32", bits, tiles};
}

#else

std::optional<Result<Registers>> tile_registers(Precision) { return std::nullopt; }

#endif

}  // namespace assay::native
