#include "comm/reduce.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace assay {

namespace {

// A stored element and the value that is computed with. All conversions are without branches, so
// that the loops vectorise with whatever integer instructions there are.

template <class T>
struct Plain {
  using Stored = T;
  using Value = T;
  static Value load(Stored stored) { return stored; }
  static Stored store(Value value) { return value; }
};

struct Bf16 {
  using Stored = std::uint16_t;
  using Value = float;
  static Value load(Stored stored) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(stored) << 16);
  }
  static Stored store(Value value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    // Rounding could carry a NaN into infinity, so it keeps its upper bits and is made quiet.
    const std::uint32_t nan = (bits >> 16) | 0x40u;
    return static_cast<Stored>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  }
};

struct Fp16 {
  using Stored = std::uint16_t;
  using Value = float;
  /// The exponent field is 5 bits with bias 15, fp32's 8 bits with bias 127: a product with 2^112
  /// moves the bias, exactly, and makes subnormal numbers normal.
  static Value load(Stored stored) {
    const std::uint32_t magnitude = static_cast<std::uint32_t>(stored & 0x7fffu) << 13;
    const float value = std::bit_cast<float>(magnitude) * 0x1p112f;
    const std::uint32_t special = (stored & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
    const std::uint32_t sign = static_cast<std::uint32_t>(stored & 0x8000u) << 16;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | special | sign);
  }
  static Stored store(Value value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7fffffffu, sign = (bits >> 16) & 0x8000u;
    // Normal results: move the bias, round at bit 13 to even; a carry runs into the exponent, up to
    // infinity, as it should.
    const std::uint32_t normal =
        (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    // Subnormal ones are multiples of 2^-24, which is the last place of numbers just above 1/2: the
    // addition rounds.
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    const std::uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    std::uint32_t result = magnitude < 0x38800000u ? subnormal : normal;  // 2^-14
    result = magnitude >= 0x47800000u ? special : result;                 // 2^16
    return static_cast<Stored>(result | sign);
  }
};

/// Calls `body` with the element's format; s8 and u8 have none.
template <class Body>
void dispatch(DataType type, Body body) {
  switch (type) {
    case DataType::fp64:
      return body(Plain<double>{});
    case DataType::fp32:
      return body(Plain<float>{});
    case DataType::bf16:
      return body(Bf16{});
    case DataType::fp16:
      return body(Fp16{});
    case DataType::s32:
      return body(Plain<std::int32_t>{});
    default:
      throw std::logic_error("no arithmetic on " + std::string(name(type)));
  }
}

template <class Value>
Value sum(Value a, Value b) {
  if constexpr (std::is_integral_v<Value>) {
    using Unsigned = std::make_unsigned_t<Value>;  // wraps, where signed overflow is undefined
    return static_cast<Value>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

template <class Format, class Operator>
void each(Buffer into, Buffer a, Buffer b, Operator apply) {
  using Stored = typename Format::Stored;
  auto* const out = static_cast<Stored*>(into.data);
  const auto* const x = static_cast<const Stored*>(a.data);
  const auto* const y = static_cast<const Stored*>(b.data);
#pragma omp simd
  for (std::int64_t i = 0; i < into.count; ++i)
    out[i] = Format::store(apply(Format::load(x[i]), Format::load(y[i])));
}

template <class To, class From>
void convert_each(Buffer into, Buffer from) {
  auto* const out = static_cast<typename To::Stored*>(into.data);
  const auto* const in = static_cast<const typename From::Stored*>(from.data);
#pragma omp simd
  for (std::int64_t i = 0; i < into.count; ++i)
    out[i] = To::store(static_cast<typename To::Value>(From::load(in[i])));
}

}  // namespace

std::string why_not_reduce(DataType type, ReduceOp op) {
  if (type == DataType::s8 || type == DataType::u8)
    return "no " + std::string(name(op)) + " of " + std::string(name(type)) +
           " (8-bit sums overflow; fp64, fp32, fp16, bf16 and s32 are combined)";
  if (is_integer(type) && op == ReduceOp::average)
    return "no average of " + std::string(name(type)) + " (the mean of integers is no integer)";
  return "";
}

bool combines(Collective what) {
  return what == Collective::allreduce || what == Collective::reduce ||
         what == Collective::reduce_scatter;
}

void combine(Buffer into, Buffer a, Buffer b, ReduceOp op) {
  dispatch(into.type, [&](auto format) {
    using Format = decltype(format);
    using Value = typename Format::Value;
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::average:
        return each<Format>(into, a, b, [](Value x, Value y) { return sum(x, y); });
      case ReduceOp::min:
        return each<Format>(into, a, b, [](Value x, Value y) { return y < x ? y : x; });
      case ReduceOp::max:
        return each<Format>(into, a, b, [](Value x, Value y) { return x < y ? y : x; });
    }
  });
}

void scale(Buffer sum, int ranks) {
  dispatch(sum.type, [&](auto format) {
    using Format = decltype(format);
    using Value = typename Format::Value;
    if constexpr (std::is_integral_v<Value>) {
      throw std::logic_error(why_not_reduce(sum.type, ReduceOp::average));
    } else {
      const auto by = static_cast<Value>(ranks);
      each<Format>(sum, sum, sum, [by](Value x, Value) { return x / by; });
    }
  });
}

void copy(Buffer into, Buffer from) {
  if (into.data != from.data && from.count > 0) std::memcpy(into.data, from.data, from.bytes());
}

void convert(Buffer into, Buffer from) {
  if (into.type == from.type) return copy(into, from);
  dispatch(into.type, [&](auto to) {
    dispatch(from.type, [&](auto source) {
      using To = decltype(to);
      using From = decltype(source);
      if constexpr (std::is_integral_v<typename To::Value> ||
                    std::is_integral_v<typename From::Value>)
        throw std::logic_error("integers are not converted");
      else
        convert_each<To, From>(into, from);
    });
  });
}

}  // namespace assay
