#pragma once
// Our kernels consist of items. A thread runs one item, and no two items write the same result.
// Threads share no memory; those of a warp may exchange values (warp.hpp). Sums are computed in
// stages, in a fixed order. So results do not depend on the order of threads, and tests run the
// same code on the host (tests/cuda/fake/items.cpp). nvcc compiles this header, so the only headers
// of Assay that it includes are those of core/api that include only item_code.hpp.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "core/api/fp8.hpp"
#include "core/api/item_code.hpp"

namespace assay::cuda {

/// The type in which elements are computed.
template <class Stored>
using ValueOf = std::conditional_t<std::is_same_v<Stored, double>, double, float>;

ASSAY_ITEM double widen(double stored) { return stored; }
ASSAY_ITEM float widen(float stored) { return stored; }
ASSAY_ITEM float widen(__half stored) { return __half2float(stored); }
ASSAY_ITEM float widen(__nv_bfloat16 stored) { return __bfloat162float(stored); }
ASSAY_ITEM float widen(Fp8E4m3 stored) { return fp8_value(stored); }
ASSAY_ITEM float widen(Fp8E5m2 stored) { return fp8_value(stored); }

/// Rounded to nearest even.
template <class Stored>
ASSAY_ITEM Stored narrow(ValueOf<Stored> value) {
  if constexpr (std::is_same_v<Stored, __half>)
    return __float2half_rn(value);
  else if constexpr (std::is_same_v<Stored, __nv_bfloat16>)
    return __float2bfloat16_rn(value);
  else if constexpr (std::is_same_v<Stored, Fp8E4m3> || std::is_same_v<Stored, Fp8E5m2>)
    return store_fp8<Stored>(static_cast<double>(value));
  else
    return value;
}

/// Most elements that a thread reads or writes by one instruction: sixteen bytes.
template <class Stored>
inline constexpr int widest = 16 / static_cast<int>(sizeof(Stored));

template <class Stored, int width>
struct alignas(sizeof(Stored) * width) Pack {
  Stored at[width];
};

template <int width, class Stored>
ASSAY_ITEM Pack<Stored, width> read(const Stored* from) {
  return *reinterpret_cast<const Pack<Stored, width>*>(from);
}
template <int width, class Stored>
ASSAY_ITEM void widen(const Pack<Stored, width>& pack, ValueOf<Stored>* to) {
  for (int j = 0; j < width; ++j) to[j] = widen(pack.at[j]);
}
template <int width, class Stored>
ASSAY_ITEM void load(const Stored* from, ValueOf<Stored>* to) {
  widen(read<width>(from), to);
}
template <int width, class Stored>
ASSAY_ITEM void store(const ValueOf<Stored>* from, Stored* to) {
  Pack<Stored, width> pack;
  for (int j = 0; j < width; ++j) pack.at[j] = narrow<Stored>(from[j]);
#if defined(__CUDA_ARCH__)
  // Among other stores, nvcc would split the store of a pack into its elements.
  if constexpr (sizeof pack == sizeof(uint4)) {
    uint4 words;
    memcpy(&words, &pack, sizeof pack);
    return __stwb(reinterpret_cast<uint4*>(to), words);
  }
#endif
  *reinterpret_cast<Pack<Stored, width>*>(to) = pack;
}

/// The sum of `count` numbers that are `step` apart, in their order. Several are read at once,
/// because each read has a long latency.
ASSAY_ITEM double add_strided(const double* from, std::int64_t step, std::int64_t count) {
  constexpr int at_once = 16;
  double sum = 0;
  std::int64_t i = 0;
  for (; i + at_once <= count; i += at_once) {
    double some[at_once];
    for (int j = 0; j < at_once; ++j) some[j] = from[(i + j) * step];
    for (int j = 0; j < at_once; ++j) sum += some[j];
  }
  for (; i < count; ++i) sum += from[i * step];
  return sum;
}

/// One stage of a sum: of up to 64 rows of `columns` numbers.
inline constexpr std::int64_t rows_of_stage = 64;
template <class To>
struct SumStage {
  const double* from;
  To* to;
  std::int64_t rows, columns;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t first = i / columns * rows_of_stage, left = rows - first;
    to[i] = static_cast<To>(add_strided(from + first * columns + i % columns, columns,
                                        left < rows_of_stage ? left : rows_of_stage));
  }
};

/// Rows [rows, columns] that are so few that an item sums them itself.
struct FewRows {
  const double* from = nullptr;
  std::int64_t rows = 0, columns = 0;
  ASSAY_ITEM double sum(std::int64_t column) const {
    return add_strided(from + column, columns, rows);
  }
};

/// Divides numbers below 2^31 by a multiplication, which takes a fifth of the time of a division.
/// With the least s such that by <= 2^s, and m = floor(2^32 (2^s - by) / by) + 1, n / by is (n m /
/// 2^32 + n) / 2^s (T. Granlund and P. Montgomery, Division by Invariant Integers using
/// Multiplication, PLDI 1994).
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(std::int64_t by) : by_(by) {
    if (by >> 31 != 0) {  // all quotients are 0
      factor_ = 0;
      shift_ = 31;
      return;
    }
    while ((std::int64_t{1} << shift_) < by) ++shift_;
    factor_ = static_cast<std::uint32_t>(
        (((std::uint64_t{1} << shift_) - static_cast<std::uint64_t>(by)) << 32) /
            static_cast<std::uint64_t>(by) +
        1);
  }
  ASSAY_ITEM std::int64_t by() const { return by_; }
  /// n / by, for n >= 0.
  ASSAY_ITEM std::int64_t quotient(std::int64_t n) const {
    if (n >> 31 != 0) return n / by_;
    const auto small = static_cast<std::uint32_t>(n);
    const auto high = static_cast<std::uint32_t>((std::uint64_t{small} * factor_) >> 32);
    return (high + small) >> shift_;
  }

 private:
  std::int64_t by_ = 1;
  std::uint32_t factor_ = 1;
  int shift_ = 0;
};

}  // namespace assay::cuda
