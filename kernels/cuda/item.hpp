#pragma once
// Our kernels consist of items. A thread runs one item, which writes results that no other item
// writes, and threads share no memory. So results do not depend on the order of threads, sums are
// computed in stages, in a fixed order, and tests run the same code on the host
// (tests/cuda/fake/items.cpp). nvcc compiles this header, so it includes no other headers of Assay
// but those of core/api that include item_code.hpp alone.

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
    return fp8_stored<Stored>(static_cast<double>(value));
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
ASSAY_ITEM void load(const Stored* from, ValueOf<Stored>* to) {
  const auto pack = *reinterpret_cast<const Pack<Stored, width>*>(from);
  for (int j = 0; j < width; ++j) to[j] = widen(pack.at[j]);
}
template <int width, class Stored>
ASSAY_ITEM void store(const ValueOf<Stored>* from, Stored* to) {
  Pack<Stored, width> pack;
  for (int j = 0; j < width; ++j) pack.at[j] = narrow<Stored>(from[j]);
  *reinterpret_cast<Pack<Stored, width>*>(to) = pack;
}

/// One stage of a sum: of up to 64 rows of `columns` numbers.
inline constexpr std::int64_t rows_of_stage = 64;
template <class To>
struct AddUp {
  const double* from;
  To* to;
  std::int64_t rows, columns;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t first = i / columns * rows_of_stage, column = i % columns,
                       last = first + rows_of_stage < rows ? first + rows_of_stage : rows;
    double sum = 0;
    for (std::int64_t row = first; row < last; ++row) sum += from[row * columns + column];
    to[i] = static_cast<To>(sum);
  }
};

}  // namespace assay::cuda
