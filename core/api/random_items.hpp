#pragma once
// The values of core/api/random.hpp, one block of four elements at a time: the same code makes them
// on the host and on a device. Every value is made of exact operations and at most one correctly
// rounded one, so that no compiler's fused multiply-add can make two builds, two devices, or
// Values::fill() and Values::operator() differ.

#include <Random123/philox.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/api/item_code.hpp"
#include "core/api/value_recipe.hpp"

namespace assay::philox {

/// Bits as another type of the same size.
template <class To, class From>
ASSAY_ITEM To reinterpret_bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// The four words of a block. `part` separates the two words that an fp64 value needs.
ASSAY_ITEM r123::Philox4x32::ctr_type draw(const ValueRecipe& recipe, std::uint64_t block,
                                           std::uint32_t part) {
  const r123::Philox4x32::ctr_type counter = {{static_cast<std::uint32_t>(block),
                                               static_cast<std::uint32_t>(block >> 32), part,
                                               recipe.rank}};
  const r123::Philox4x32::key_type key = {{recipe.key[0], recipe.key[1]}};
  return r123::Philox4x32()(counter, key);  // 10 rounds
}

ASSAY_ITEM bool needs_two_words(ValueRecipe::Form form) {
  return form == ValueRecipe::Form::fp64 || form == ValueRecipe::Form::fixed_fp64;
}

ASSAY_ITEM double apply_sign(std::uint32_t word, double magnitude) {
  return reinterpret_bits<double>(reinterpret_bits<std::uint64_t>(magnitude) |
                                  std::uint64_t{word & 0x80000000u} << 32);
}

/// One sign bit, 31 bits of magnitude: 2^-10 + m * (1 - 5/1024) with m in (0, 1). So it is within
/// [2^-10, 1 - 2^-8], whose upper end rounds to below 1 in every type. It has at most 42 bits,
/// exact in fp64; the factor 1019 makes the last places of small values random, too.
ASSAY_ITEM double unit_value(std::uint32_t word) {
  const auto magnitude = static_cast<double>(static_cast<std::int32_t>(word & 0x7fffffffu));
  return apply_sign(word, 0x1p-10 + (magnitude + 0.5) * (1019.0 / 1024.0 * 0x1p-31));
}

/// The same within [2^-6, 15/16): rounded to either 8-bit type, it is a normal number below 1.
ASSAY_ITEM double fp8_unit_value(std::uint32_t word) {
  const auto magnitude = static_cast<double>(static_cast<std::int32_t>(word & 0x7fffffffu));
  return apply_sign(word, 0x1p-6 + (magnitude + 0.5) * (59.0 / 64.0 * 0x1p-31));
}

/// One sign bit, 63 bits of magnitude in [2^-10, 1): 53 significant bits are random in every
/// binade.
ASSAY_ITEM double unit_value(std::uint32_t first, std::uint32_t second) {
  constexpr std::int64_t least = std::int64_t{1} << 53,
                         most = 0x7fffffffffffffff - 1023;  // converts to below 1
  auto magnitude = static_cast<std::int64_t>((std::uint64_t{first & 0x7fffffffu} << 32) | second);
  if (magnitude < least) magnitude += least;
  if (magnitude > most) magnitude = most;
  return apply_sign(first, static_cast<double>(magnitude) * 0x1p-63);
}

/// One sign bit, the `bits` highest of 63 bits of magnitude.
ASSAY_ITEM double make_fixed_value(std::uint32_t first, std::uint32_t second, int bits) {
  const std::uint64_t magnitude = (std::uint64_t{first & 0x7fffffffu} << 32) | second;
  const double value =
      static_cast<double>(static_cast<std::int64_t>(magnitude >> (63 - bits))) *
      reinterpret_bits<double>(static_cast<std::uint64_t>(1023 - bits) << 52);  // 2^-bits
  return (first & 0x80000000u) != 0 ? -value : value;
}

/// Multiply-shift: uniform up to count / 2^32, both ends included.
ASSAY_ITEM double integer_value(std::uint32_t word, double low, std::uint64_t count) {
  return low + static_cast<double>(static_cast<std::int64_t>((word * count) >> 32));
}

/// Round to nearest even at a significand of `bits`; of a normal number that stays normal.
/// Branch-free, so it vectorises.
ASSAY_ITEM double round_significand(double value, int bits) {
  const int dropped = 53 - bits;
  const auto pattern = reinterpret_bits<std::uint64_t>(value);
  const std::uint64_t half = (std::uint64_t{1} << (dropped - 1)) - 1 + ((pattern >> dropped) & 1);
  return reinterpret_bits<double>((pattern + half) & ~((std::uint64_t{1} << dropped) - 1));
}

/// A value of at most 11 significant bits, rounded to fp16. Subnormal numbers of fp16 are multiples
/// of 2^-24: adding 1.5 * 2^28 rounds to such a multiple.
ASSAY_ITEM double round_to_fp16(double value) {
  double size = std::fabs(value);
  if (size < 0x1p-14) size = (size + 0x1.8p28) - 0x1.8p28;
  if (size >= 0x1p16) size = HUGE_VAL;
  return std::copysign(size, value);
}

/// A value before its modifiers. `second`: a word that two-word forms need.
template <ValueRecipe::Form form>
ASSAY_ITEM double plain_value(const ValueRecipe& recipe, std::uint32_t first,
                              std::uint32_t second) {
  using Form = ValueRecipe::Form;
  if constexpr (form == Form::integer)
    return integer_value(first, recipe.low, recipe.count);
  else if constexpr (form == Form::fixed)
    return make_fixed_value(first, 0, recipe.bits);
  else if constexpr (form == Form::fixed_fp64)
    return make_fixed_value(first, second, recipe.bits);
  else if constexpr (form == Form::fp64)
    return unit_value(first, second);
  else if constexpr (form == Form::fp32)
    return static_cast<double>(static_cast<float>(unit_value(first)));
  else if constexpr (form == Form::fp8)
    return round_significand(fp8_unit_value(first), recipe.bits);
  else
    return round_significand(unit_value(first), form == Form::bf16 ? 8 : 11);
}

/// out[i] = the plain value of words first[i] and second[i]. The form is chosen once, so that the
/// loops vectorise.
ASSAY_ITEM void plain_values(const ValueRecipe& recipe, const std::uint32_t* first,
                             const std::uint32_t* second, std::size_t count, double* out) {
  using Form = ValueRecipe::Form;
#define ASSAY_FORM(form)                                       \
  case form:                                                   \
    for (std::size_t i = 0; i < count; ++i)                    \
      out[i] = plain_value<form>(recipe, first[i], second[i]); \
    return;
  switch (recipe.form) {
    ASSAY_FORM(Form::integer)
    ASSAY_FORM(Form::fixed)
    ASSAY_FORM(Form::fixed_fp64)
    ASSAY_FORM(Form::fp64)
    ASSAY_FORM(Form::fp32)
    ASSAY_FORM(Form::bf16)
    ASSAY_FORM(Form::fp16)
    ASSAY_FORM(Form::fp8)
  }
#undef ASSAY_FORM
}

/// True if an element belongs to this rank's group and to a kept row. Other elements are zero.
ASSAY_ITEM bool is_kept(const ValueRecipe& recipe, std::uint64_t index) {
  if (recipe.groups > 1 && index % recipe.groups != recipe.rank % recipe.groups) return false;
  return recipe.kept == nullptr || recipe.kept[index / recipe.width % recipe.rows] != 0;
}

/// Exact, except for fp16, whose normal numbers end at 2^-14.
ASSAY_ITEM double modify(const ValueRecipe& recipe, double value) {
  if (recipe.magnitudes) value = std::fabs(value);
  if (recipe.factor == 1) return value;
  value *= recipe.factor;
  return recipe.form == ValueRecipe::Form::fp16 ? round_to_fp16(value) : value;
}

/// Elements 4 block … 4 block + 3, rounded to the tensor's type.
ASSAY_ITEM void make_block(const ValueRecipe& recipe, std::uint64_t block, double (&out)[4]) {
  const r123::Philox4x32::ctr_type first = draw(recipe, block, 0);
  r123::Philox4x32::ctr_type second = {};
  if (needs_two_words(recipe.form)) second = draw(recipe, block, 1);
  plain_values(recipe, first.v, second.v, 4, out);
  for (unsigned i = 0; i < 4; ++i)
    out[i] = is_kept(recipe, 4 * block + i) ? modify(recipe, out[i]) : 0.0;
}

}  // namespace assay::philox
