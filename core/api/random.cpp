#include "core/api/random.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/api/random_items.hpp"

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

/// Words of `count` consecutive blocks.
void draw(const ValueRecipe& recipe, std::uint64_t block, std::uint32_t part, std::size_t count,
          std::uint32_t* words) {
  for (std::size_t i = 0; i < count; ++i) {
    const Philox::ctr_type out = philox::draw(recipe, block + i, part);
    std::copy(out.begin(), out.end(), words + 4 * i);
  }
}

struct Range {
  double low;
  std::uint64_t count;
};

Range find_range(Values::Kind kind, DataType type, int magnitude) {
  const auto m = static_cast<std::int64_t>(magnitude);
  if (type != DataType::u8) return {static_cast<double>(-m), static_cast<std::uint64_t>(2 * m + 1)};
  return {0, static_cast<std::uint64_t>(kind == Values::Kind::integer ? m + 1 : 2 * m + 2)};
}

ValueRecipe::Form choose_form(Values::Kind kind, DataType type) {
  using enum ValueRecipe::Form;
  if (kind == Values::Kind::integer || is_integer(type)) return integer;
  if (kind == Values::Kind::fixed) return type == DataType::fp64 ? fixed_fp64 : fixed;
  return type == DataType::fp64   ? fp64
         : type == DataType::fp32 ? fp32
         : type == DataType::bf16 ? bf16
         : type == DataType::fp16 ? fp16
                                  : fp8;
}

class VectorValues final : public StoredValues {
 public:
  explicit VectorValues(std::vector<double> values) : values_(std::move(values)) {}
  DataType type() const override { return DataType::fp64; }
  void fill(std::int64_t first, std::span<double> out) const override {
    if (first < 0 || static_cast<std::size_t>(first) + out.size() > values_.size())
      throw std::out_of_range("stored values end before these elements");
    std::copy_n(values_.begin() + first, out.size(), out.begin());
  }

 private:
  std::vector<double> values_;
};

}  // namespace

StoredValues::StoredValues() {
  static std::atomic<std::uint64_t> last = 0;
  serial_ = ++last;
}

Values::Values(Kind kind, std::uint64_t seed, std::string_view stream, DataType type, int magnitude)
    : kind_(kind), type_(type) {
  recipe_.form = choose_form(kind, type);
  if (kind == Kind::fixed) {
    const double u = unit_roundoff(type);
    if (u == 0 || magnitude < 1 || std::ldexp(u, magnitude) > 1)
      throw std::invalid_argument("fixed-point values of " + std::to_string(magnitude) +
                                  " bits do not exist in " + std::string(name(type)) +
                                  " (it holds fewer, or integers). Use fewer bits.");
    recipe_.bits = magnitude;
  } else if (kind == Kind::integer || is_integer(type)) {
    const Range range = find_range(kind, type, magnitude);
    const double last = range.low + static_cast<double>(range.count - 1);
    const double u = unit_roundoff(type);
    if (magnitude < 0 || round_to(type, range.low) != range.low || round_to(type, last) != last ||
        u * last > 1) {
      throw std::invalid_argument("integers of magnitude " + std::to_string(magnitude) +
                                  " are not exact in " + std::string(name(type)) +
                                  " (the type holds fewer). Use a smaller magnitude.");
    }
    recipe_.low = range.low;
    recipe_.count = range.count;
  }
  if (recipe_.form == ValueRecipe::Form::fp8) recipe_.bits = type == DataType::fp8_e4m3 ? 4 : 3;
  // Philox mixes seed and name, so neighbouring seeds and names give unrelated keys.
  const std::uint64_t id = hash(stream);
  const Philox::ctr_type mixed =
      Philox()({{low(seed), high(seed), low(id), high(id)}}, {{0x61737361u, 0x79u}});
  recipe_.key[0] = mixed[0];
  recipe_.key[1] = mixed[1];
}

Values::Values(std::shared_ptr<const StoredValues> stored)
    : kind_(Kind::mantissa), type_(stored->type()), stored_(std::move(stored)) {}

Values::Values(std::vector<double> stored)
    : Values(std::make_shared<const VectorValues>(std::move(stored))) {}

Values Values::of_rank(int rank) const {
  if (!random()) throw std::invalid_argument("stored values belong to no rank");
  Values other = *this;
  other.recipe_.rank = static_cast<std::uint32_t>(rank);
  return other;
}

Values Values::in_groups(int groups) const {
  if (!random()) throw std::invalid_argument("stored values belong to no group of ranks");
  Values other = *this;
  other.recipe_.groups = static_cast<std::uint64_t>(groups);
  return other;
}

Values Values::scaled(int exponent) const {
  if (kind_ != Kind::mantissa || is_integer(type_) || size_of(type_) == 1 || !random())
    throw std::invalid_argument(
        "only full significands of floating types have a scale (integers, fixed-point values and "
        "those of 8 bits would become others). Use Kind::mantissa.");
  Values other = *this;
  other.recipe_.factor = std::ldexp(1, exponent);
  return other;
}

Values Values::magnitudes() const {
  if (!random()) throw std::invalid_argument("stored values have the signs that they have");
  Values other = *this;
  other.recipe_.magnitudes = true;
  return other;
}

Values Values::in_rows(std::int64_t width, std::int64_t rows,
                       std::span<const std::int64_t> kept) const {
  if (!random()) throw std::invalid_argument("stored values keep all of their rows");
  if (width < 1 || rows < 1) throw std::invalid_argument("rows must have elements");
  std::vector<unsigned char> all(static_cast<std::size_t>(rows), 0);
  for (const std::int64_t row : kept) all.at(static_cast<std::size_t>(row)) = 1;
  Values other = *this;
  other.kept_ = std::make_shared<const std::vector<unsigned char>>(std::move(all));
  other.recipe_.width = static_cast<std::uint64_t>(width);
  other.recipe_.rows = static_cast<std::uint64_t>(rows);
  other.recipe_.kept = other.kept_->data();
  return other;
}

/// Zeroes the elements of other groups and the rows that are not kept.
void Values::clear_others(std::uint64_t first, std::span<double> out) const {
  clear_rows(first, out);
  if (recipe_.groups == 1) return;
  const std::uint64_t own = recipe_.rank % recipe_.groups;
  for (std::size_t i = 0; i < out.size(); ++i)
    if ((first + i) % recipe_.groups != own) out[i] = 0;
}

void Values::clear_rows(std::uint64_t first, std::span<double> out) const {
  if (recipe_.kept == nullptr) return;
  for (std::uint64_t i = 0; i < out.size();) {
    const std::uint64_t row = (first + i) / recipe_.width,
                        end =
                            std::min<std::uint64_t>(out.size(), (row + 1) * recipe_.width - first);
    if (recipe_.kept[row % recipe_.rows] == 0)
      std::fill(out.begin() + static_cast<std::ptrdiff_t>(i),
                out.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
    i = end;
  }
}

double Values::operator()(std::int64_t index) const {
  double out[4];
  if (stored_) {
    stored_->fill(index, {out, 1});
    return out[0];
  }
  philox::make_block(recipe_, static_cast<std::uint64_t>(index) / 4, out);
  return out[index % 4];
}

void Values::fill(std::int64_t first, std::span<double> out) const {
  if (stored_) return stored_->fill(first, out);
  std::uint32_t words[4 * blocks_at_once], more[4 * blocks_at_once] = {};
  double ends[4];
  std::size_t done = 0;
  while (done < out.size()) {
    const auto index = static_cast<std::uint64_t>(first) + done;
    const std::size_t left = out.size() - done;
    if (index % 4 != 0 || left < 4) {
      philox::make_block(recipe_, index / 4, ends);
      const std::size_t take = std::min<std::size_t>(4 - index % 4, left);
      std::copy_n(ends + index % 4, take, out.begin() + static_cast<std::ptrdiff_t>(done));
      done += take;
      continue;
    }
    const std::size_t blocks = std::min(left / 4, blocks_at_once);
    const std::span<double> part = out.subspan(done, 4 * blocks);
    draw(recipe_, index / 4, 0, blocks, words);
    if (philox::needs_two_words(recipe_.form)) draw(recipe_, index / 4, 1, blocks, more);
    philox::plain_values(recipe_, words, more, part.size(), part.data());
    clear_others(index, part);
    if (recipe_.magnitudes || recipe_.factor != 1)
      for (double& value : part) value = philox::modify(recipe_, value);
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
