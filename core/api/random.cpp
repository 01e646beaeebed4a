#include "core/api/random.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace assay {
namespace {

using Philox = r123::Philox4x32;  // 10 rounds

// Blocks whose random words are drawn before they are converted, so that the conversion loops run
// over arrays.
constexpr std::size_t blocks_at_once = 64;

/// FNV-1a, 64 bits: the name of a stream as a number, the same on every platform (std::hash is
/// not).
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const unsigned char byte : text) value = (value ^ byte) * 0x100000001b3u;
  return value;
}

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

/// Words of `count` consecutive blocks. `part` separates the two words that an fp64 value needs.
void draw(const std::uint32_t (&key)[2], std::uint32_t rank, std::uint64_t counter,
          std::uint32_t part, std::size_t count, std::uint32_t* words) {
  Philox philox;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t c = counter + i;
    const Philox::ctr_type out = philox({{low(c), high(c), part, rank}}, {{key[0], key[1]}});
    std::copy(out.begin(), out.end(), words + 4 * i);
  }
}

// Every value below is made of exact operations and at most one correctly rounded one, so that no
// compiler's fused multiply-add can make two builds, or fill() and operator(), differ.

/// One sign bit, 31 bits of magnitude: 2^-10 + m * (1 - 5/1024) with m in (0, 1), hence within
/// [2^-10, 1 - 2^-8]: the upper end rounds to below 1 in every type. 42 bits at most, exact in
/// fp64; multiplying by 1019 carries the random bits into the last places of small values, too.
double unit_value(std::uint32_t word) {
  const auto magnitude = static_cast<double>(static_cast<std::int32_t>(word & 0x7fffffffu));
  const double value = 0x1p-10 + (magnitude + 0.5) * (1019.0 / 1024.0 * 0x1p-31);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) |
                               std::uint64_t{word & 0x80000000u} << 32);
}

/// Round to nearest even at a significand of `bits`; of a normal number that stays normal.
/// Branch-free, so it vectorises.
double round_significand(double value, int bits) {
  const int dropped = 53 - bits;
  const auto pattern = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t half = (std::uint64_t{1} << (dropped - 1)) - 1 + ((pattern >> dropped) & 1);
  return std::bit_cast<double>((pattern + half) & ~((std::uint64_t{1} << dropped) - 1));
}

/// One sign bit, 63 bits of magnitude in [2^-10, 1): 53 significant bits are random in every
/// binade.
double unit_value(std::uint32_t first, std::uint32_t second) {
  constexpr std::int64_t least = std::int64_t{1} << 53;
  constexpr std::int64_t most =
      std::numeric_limits<std::int64_t>::max() - 1023;  // converts to below 1
  auto magnitude = static_cast<std::int64_t>((std::uint64_t{first & 0x7fffffffu} << 32) | second);
  if (magnitude < least) magnitude += least;
  const double value = static_cast<double>(std::min(magnitude, most)) * 0x1p-63;
  return (first & 0x80000000u) != 0 ? -value : value;
}

/// One sign bit, the `bits` highest of 63 bits of magnitude.
double fixed_value(std::uint32_t first, std::uint32_t second, int bits) {
  const std::uint64_t magnitude = (std::uint64_t{first & 0x7fffffffu} << 32) | second;
  const double value =
      static_cast<double>(static_cast<std::int64_t>(magnitude >> (63 - bits))) *
      std::bit_cast<double>(static_cast<std::uint64_t>(1023 - bits) << 52);  // 2^-bits
  return (first & 0x80000000u) != 0 ? -value : value;
}

struct Range {
  double low;
  std::uint64_t count;
};

Range range_of(Values::Kind kind, DataType type, int magnitude) {
  const auto m = static_cast<std::int64_t>(magnitude);
  if (type != DataType::u8) return {static_cast<double>(-m), static_cast<std::uint64_t>(2 * m + 1)};
  return {0, static_cast<std::uint64_t>(kind == Values::Kind::integer ? m + 1 : 2 * m + 2)};
}

void convert(const std::uint32_t* words, const std::uint32_t* more, std::size_t count,
             Values::Kind kind, DataType type, int magnitude, double* out) {
  if (kind == Values::Kind::integer || is_integer(type)) {
    // Multiply-shift: uniform up to count / 2^32, both ends included.
    const Range range = range_of(kind, type, magnitude);
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = range.low +
               static_cast<double>(static_cast<std::int64_t>((words[i] * range.count) >> 32));
    }
    return;
  }
  if (kind == Values::Kind::fixed) {
    for (std::size_t i = 0; i < count; ++i)
      out[i] = fixed_value(words[i], type == DataType::fp64 ? more[i] : 0, magnitude);
    return;
  }
  switch (type) {
    case DataType::fp64:
      for (std::size_t i = 0; i < count; ++i) out[i] = unit_value(words[i], more[i]);
      return;
    case DataType::fp32:
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(unit_value(words[i]));
      return;
    case DataType::bf16:
      for (std::size_t i = 0; i < count; ++i) out[i] = round_significand(unit_value(words[i]), 8);
      return;
    default:
      for (std::size_t i = 0; i < count; ++i) out[i] = round_significand(unit_value(words[i]), 11);
      return;
  }
}

template <class T>
void copy(const std::vector<T>& stored, std::int64_t first, std::span<double> out) {
  if (first < 0 || static_cast<std::size_t>(first) + out.size() > stored.size())
    throw std::out_of_range("stored values end before these elements");
  std::copy_n(stored.begin() + first, out.size(), out.begin());
}

}  // namespace

Values::Values(Kind kind, std::uint64_t seed, std::string_view stream, DataType type, int magnitude)
    : kind_(kind), type_(type), magnitude_(magnitude) {
  if (kind == Kind::fixed) {
    const double u = unit_roundoff(type);
    if (u == 0 || magnitude < 1 || std::ldexp(u, magnitude) > 1)
      throw std::invalid_argument("fixed-point values of " + std::to_string(magnitude) +
                                  " bits do not exist in " + std::string(name(type)) +
                                  " (it holds fewer, or integers). Use fewer bits.");
  } else if (kind == Kind::integer || is_integer(type)) {
    const Range range = range_of(kind, type, magnitude);
    const double last = range.low + static_cast<double>(range.count - 1);
    const double u = unit_roundoff(type);
    if (magnitude < 0 || round_to(type, range.low) != range.low || round_to(type, last) != last ||
        u * last > 1) {
      throw std::invalid_argument("integers of magnitude " + std::to_string(magnitude) +
                                  " are not exact in " + std::string(name(type)) +
                                  " (the type holds fewer). Use a smaller magnitude.");
    }
  }
  // Seed and name are mixed by Philox itself: neighbouring seeds and names give unrelated keys.
  const std::uint64_t id = hash(stream);
  const Philox::ctr_type mixed =
      Philox()({{low(seed), high(seed), low(id), high(id)}}, {{0x61737361u, 0x79u}});
  key_[0] = mixed[0];
  key_[1] = mixed[1];
}

Values::Values(std::shared_ptr<const std::vector<double>> stored)
    : kind_(Kind::mantissa),
      type_(DataType::fp64),
      magnitude_(0),
      key_{},
      stored_(std::move(stored)) {}

Values::Values(std::shared_ptr<const std::vector<float>> stored)
    : kind_(Kind::mantissa),
      type_(DataType::fp32),
      magnitude_(0),
      key_{},
      stored_fp32_(std::move(stored)) {}

Values Values::of_rank(int rank) const {
  if (!random()) throw std::invalid_argument("stored values belong to no rank");
  Values other = *this;
  other.rank_ = static_cast<std::uint32_t>(rank);
  return other;
}

Values Values::in_groups(int groups) const {
  if (!random()) throw std::invalid_argument("stored values belong to no group of ranks");
  Values other = *this;
  other.groups_ = groups;
  return other;
}

Values Values::scaled(int exponent) const {
  if (kind_ != Kind::mantissa || is_integer(type_) || !random())
    throw std::invalid_argument(
        "only full significands of floating types have a scale (integers and fixed-point values "
        "would become others). Use Kind::mantissa.");
  Values other = *this;
  other.exponent_ = exponent;
  return other;
}

Values Values::magnitudes() const {
  if (!random()) throw std::invalid_argument("stored values have the signs that they have");
  Values other = *this;
  other.magnitudes_ = true;
  return other;
}

Values Values::in_rows(std::int64_t width, std::int64_t rows,
                       std::span<const std::int64_t> kept) const {
  if (!random()) throw std::invalid_argument("stored values keep all of their rows");
  if (width < 1 || rows < 1) throw std::invalid_argument("rows must have elements");
  std::vector<bool> all(static_cast<std::size_t>(rows), false);
  for (const std::int64_t row : kept) all.at(static_cast<std::size_t>(row)) = true;
  Values other = *this;
  other.width_ = static_cast<std::uint64_t>(width);
  other.kept_ = std::make_shared<const std::vector<bool>>(std::move(all));
  return other;
}

void Values::block(std::uint64_t counter, double (&out)[4]) const {
  std::uint32_t words[4], more[4] = {};
  draw(key_, rank_, counter, 0, 1, words);
  if (type_ == DataType::fp64) draw(key_, rank_, counter, 1, 1, more);
  convert(words, more, 4, kind_, type_, magnitude_, out);
  clear_others(4 * counter, out);
  scale(out);
}

/// Zeroes what is another group's, and rows that are not kept.
void Values::clear_others(std::uint64_t first, std::span<double> out) const {
  clear_rows(first, out);
  if (groups_ == 1) return;
  const auto groups = static_cast<std::uint64_t>(groups_), own = rank_ % groups;
  for (std::size_t i = 0; i < out.size(); ++i)
    if ((first + i) % groups != own) out[i] = 0;
}

void Values::clear_rows(std::uint64_t first, std::span<double> out) const {
  if (!kept_) return;
  for (std::uint64_t i = 0; i < out.size();) {
    const std::uint64_t row = (first + i) / width_,
                        end = std::min<std::uint64_t>(out.size(), (row + 1) * width_ - first);
    if (!(*kept_)[row % kept_->size()])
      std::fill(out.begin() + static_cast<std::ptrdiff_t>(i),
                out.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
    i = end;
  }
}

/// Exact but for fp16, whose normal numbers end at 2^-14.
void Values::scale(std::span<double> out) const {
  if (magnitudes_)
    for (double& value : out) value = std::abs(value);
  if (exponent_ == 0) return;
  const double factor = std::ldexp(1, exponent_);
  for (double& value : out) value *= factor;
  if (type_ == DataType::fp16)
    for (double& value : out) value = round_to(type_, value);
}

double Values::operator()(std::int64_t index) const {
  if (stored_) return stored_->at(static_cast<std::size_t>(index));
  if (stored_fp32_) return stored_fp32_->at(static_cast<std::size_t>(index));
  double out[4];
  block(static_cast<std::uint64_t>(index) / 4, out);
  return out[index % 4];
}

void Values::fill(std::int64_t first, std::span<double> out) const {
  if (stored_) return copy(*stored_, first, out);
  if (stored_fp32_) return copy(*stored_fp32_, first, out);
  std::uint32_t words[4 * blocks_at_once], more[4 * blocks_at_once];
  double ends[4];
  std::size_t done = 0;
  while (done < out.size()) {
    const auto index = static_cast<std::uint64_t>(first) + done;
    const std::size_t left = out.size() - done;
    if (index % 4 != 0 || left < 4) {
      block(index / 4, ends);
      const std::size_t take = std::min<std::size_t>(4 - index % 4, left);
      std::copy_n(ends + index % 4, take, out.begin() + static_cast<std::ptrdiff_t>(done));
      done += take;
      continue;
    }
    const std::size_t blocks = std::min(left / 4, blocks_at_once);
    draw(key_, rank_, index / 4, 0, blocks, words);
    if (type_ == DataType::fp64) draw(key_, rank_, index / 4, 1, blocks, more);
    convert(words, more, 4 * blocks, kind_, type_, magnitude_, out.data() + done);
    clear_others(index, out.subspan(done, 4 * blocks));
    scale(out.subspan(done, 4 * blocks));
    done += 4 * blocks;
  }
}

void shuffle(std::span<std::size_t> indices, std::uint64_t seed) {
  // Fisher-Yates. std::shuffle draws differently in each standard library, so the draws are
  // Philox's own: 64 random bits a step, reduced by the remainder (bias below n / 2^64).
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  for (std::size_t i = indices.size(); i > 1; --i) {
    const std::uint64_t step = i;
    const Philox::ctr_type words =
        Philox()({{low(step), high(step), 0, 0}}, {{low(seed), high(seed)}});
    const std::uint64_t draw = std::uint64_t{words[0]} << 32 | words[1];
    std::swap(indices[i - 1], indices[static_cast<std::size_t>(draw % i)]);
  }
}

}  // namespace assay
