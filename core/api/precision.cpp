#include "core/api/precision.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/api/fp8.hpp"
#include "core/base/error.hpp"
#include "core/base/name_table.hpp"

namespace assay {
namespace {

struct TypeFacts {
  DataType type;
  std::string_view name;
  std::size_t size;
  double roundoff;  // 0: integer
};
constexpr std::array<TypeFacts, 9> type_facts{{{DataType::fp64, "fp64", 8, 0x1p-53},
                                               {DataType::fp32, "fp32", 4, 0x1p-24},
                                               {DataType::bf16, "bf16", 2, 0x1p-8},
                                               {DataType::fp16, "fp16", 2, 0x1p-11},
                                               {DataType::s32, "s32", 4, 0},
                                               {DataType::s8, "s8", 1, 0},
                                               {DataType::u8, "u8", 1, 0},
                                               {DataType::fp8_e4m3, "fp8_e4m3", 1, 0x1p-4},
                                               {DataType::fp8_e5m2, "fp8_e5m2", 1, 0x1p-3}}};

using enum Precision;
/// The order is that of the enumeration.
constexpr std::array<PrecisionFormat, 10> precisions{
    {{fp64, "fp64", DataType::fp64, DataType::fp64, DataType::fp64, fp64},
     {fp32, "fp32", DataType::fp32, DataType::fp32, DataType::fp32, fp32},
     {tf32, "tf32", DataType::fp32, DataType::fp32, DataType::fp32, tf32},
     {bf16, "bf16", DataType::bf16, DataType::bf16, DataType::fp32, bf16},
     {fp16, "fp16", DataType::fp16, DataType::fp16, DataType::fp32, fp16},
     {int8, "int8", DataType::u8, DataType::s32, DataType::s32, int8},
     {bf16_fp32, "bf16_fp32", DataType::bf16, DataType::fp32, DataType::fp32, bf16},
     {fp16_fp32, "fp16_fp32", DataType::fp16, DataType::fp32, DataType::fp32, fp16},
     {fp8_e4m3, "fp8_e4m3", DataType::fp8_e4m3, DataType::bf16, DataType::fp32, fp8_e4m3},
     {fp8_e5m2, "fp8_e5m2", DataType::fp8_e5m2, DataType::bf16, DataType::fp32, fp8_e5m2}}};

constexpr std::array<std::string_view, precisions.size()> names_of_precisions = [] {
  std::array<std::string_view, precisions.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = precisions[i].name;
  return names;
}();

/// Checks that the index of each row is its enumerator.
template <class Table, class Key>
constexpr bool in_order(const Table& table, Key key) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (static_cast<std::size_t>(table[i].*key) != i) return false;
  return true;
}
static_assert(in_order(type_facts, &TypeFacts::type) &&
              !is_enumerator<static_cast<DataType>(type_facts.size())>());
static_assert(in_order(precisions, &PrecisionFormat::precision) &&
              !is_enumerator<static_cast<Precision>(precisions.size())>());

const TypeFacts& facts(DataType type) { return type_facts[static_cast<std::size_t>(type)]; }

/// fp64 to fp32, rounded to odd: an inexact result gets the neighbour whose last bit is set.
/// Rounding that to nearest even in a format with at least two bits less equals one rounding from
/// fp64 (Boldo & Melquiond 2008); rounding twice to nearest does not.
inline float odd_float(double value) {
  const float near = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(near);
  const std::uint32_t inexact = static_cast<double>(near) != value && value == value ? 1 : 0;
  const std::uint32_t away = std::fabs(static_cast<double>(near)) > std::fabs(value) ? 1 : 0;
  // An even significand becomes the odd neighbour towards `value`; infinity becomes the largest
  // float, which is odd.
  const std::uint32_t step = inexact & ~bits & 1u;
  return std::bit_cast<float>(bits + step - 2 * (step & away));
}

template <class Integer>
inline Integer saturate(double value) {
  constexpr double low = std::numeric_limits<Integer>::min(),
                   high = std::numeric_limits<Integer>::max();
  const double held = value == value ? std::clamp(value, low, high) : 0.0;
  // Adding 1.5 * 2^52 leaves no bits below one, so the addition rounds to nearest even; unlike
  // nearbyint it vectorises anywhere.
  constexpr double shift = 0x1.8p52;
  return static_cast<Integer>((held + shift) - shift);
}

template <class T>
constexpr bool is_fp8_type = std::is_same_v<T, Fp8E4m3> || std::is_same_v<T, Fp8E5m2>;

/// Values of all codes.
template <class Fp8>
const std::array<double, 256>& fp8_values() {
  static const std::array<double, 256> values = [] {
    std::array<double, 256> all;
    for (std::size_t code = 0; code < all.size(); ++code) {
      Fp8 stored;
      stored.code = static_cast<std::uint8_t>(code);
      all[code] = static_cast<double>(fp8_value(stored));
    }
    return all;
  }();
  return values;
}

template <class T>
inline T store_value(double value) {
  if constexpr (is_fp8_type<T>) {
    return store_fp8<T>(value);
  } else if constexpr (std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>) {
    return T(odd_float(value));
  } else if constexpr (std::is_integral_v<T>) {
    return saturate<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
inline double load_value(T value) {
  if constexpr (is_fp8_type<T>) {
    return fp8_values<T>()[value.code];
  } else if constexpr (std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

/// Calls `body` with a value of the C++ type that stores `type`.
template <class Body>
auto dispatch(DataType type, Body body) {
  switch (type) {
    case DataType::fp64:
      return body(double{});
    case DataType::fp32:
      return body(float{});
    case DataType::bf16:
      return body(Eigen::bfloat16{});
    case DataType::fp16:
      return body(Eigen::half{});
    case DataType::s32:
      return body(std::int32_t{});
    case DataType::s8:
      return body(std::int8_t{});
    case DataType::u8:
      return body(std::uint8_t{});
    case DataType::fp8_e4m3:
      return body(Fp8E4m3{});
    case DataType::fp8_e5m2:
      return body(Fp8E5m2{});
  }
  throw std::logic_error("no such DataType");
}

template <std::size_t N>
std::size_t find_index(std::string_view what, std::string_view name,
                       const std::array<std::string_view, N>& names) {
  const auto position = std::find(names.begin(), names.end(), name);
  if (position == names.end())
    throw InputError(
        explain_unknown_name(what, name, std::vector<std::string>(names.begin(), names.end())));
  return static_cast<std::size_t>(position - names.begin());
}

}  // namespace

std::string_view name(DataType type) { return facts(type).name; }

DataType data_type(std::string_view name) {
  std::array<std::string_view, type_facts.size()> names;
  std::transform(type_facts.begin(), type_facts.end(), names.begin(),
                 [](const TypeFacts& type) { return type.name; });
  return type_facts[find_index("data type", name, names)].type;
}

std::size_t size_of(DataType type) { return facts(type).size; }
bool is_integer(DataType type) { return facts(type).roundoff == 0; }
double unit_roundoff(DataType type) { return facts(type).roundoff; }

double round_to(DataType type, double value) {
  return dispatch(type,
                  [value](auto kind) { return load_value(store_value<decltype(kind)>(value)); });
}

void encode(DataType type, std::span<const double> values, void* out) {
  dispatch(type, [&](auto kind) {
    auto* const target = static_cast<decltype(kind)*>(out);
    const double* const source = values.data();
    const std::size_t count = values.size();
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) target[i] = store_value<decltype(kind)>(source[i]);
  });
}

void decode(DataType type, const void* in, std::span<double> values) {
  dispatch(type, [&](auto kind) {
    const auto* const source = static_cast<const decltype(kind)*>(in);
    double* const target = values.data();
    const std::size_t count = values.size();
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) target[i] = load_value(source[i]);
  });
}

const PrecisionFormat& format(Precision precision) {
  return precisions[static_cast<std::size_t>(precision)];
}
std::string_view name(Precision precision) { return format(precision).name; }
Precision precision(std::string_view name) {
  return precisions[find_index("precision", name, names_of_precisions)].precision;
}
DataType storage(Precision precision) { return format(precision).input; }
DataType weight_type(Precision precision) {
  if (precision == Precision::int8) return DataType::s8;
  return is_fp8(precision) ? DataType::fp8_e4m3 : storage(precision);
}
bool is_fp8(Precision precision) {
  return precision == Precision::fp8_e4m3 || precision == Precision::fp8_e5m2;
}
bool is_mixed(Precision precision) {
  const PrecisionFormat& its = format(precision);
  return its.input != its.output && !is_integer(its.input);
}
std::vector<std::string> list_precision_names() {
  return {names_of_precisions.begin(), names_of_precisions.end()};
}
std::string arithmetic_name(const std::string& precision_name) {
  for (const PrecisionFormat& its : precisions)
    if (its.name == precision_name) return std::string(name(its.arithmetic));
  return precision_name;
}

}  // namespace assay
