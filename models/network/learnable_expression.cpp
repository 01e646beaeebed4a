#include "models/network/learnable_expression.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "models/network/learnable_draws.hpp"

namespace assay {
namespace {

/// A loading of 64 and a factor of 256 make a quarter of a wave.
std::int32_t decode_loading(std::uint32_t byte) { return static_cast<std::int32_t>(byte / 2) - 64; }

}  // namespace

LearnableExpression::LearnableExpression(std::int64_t elements, std::uint64_t seed) : seed_(seed) {
  constexpr std::int64_t least = 16, most = std::int64_t{1} << 24;
  if (elements < least || elements > most)
    throw InputError(
        fmt::format("vectors with {} elements cannot be made ({} to {}). Choose others.", elements,
                    least, most));
  for (std::int64_t i = 0; i < elements; ++i) {
    const auto words = draw_words(seed, DrawPurpose::loadings, i);
    const auto first = static_cast<std::int32_t>(choice(words[0], factors)),
               next = static_cast<std::int32_t>(choice(words[1], factors - 1));
    loadings_.push_back({static_cast<std::int32_t>(words[2] & 0xFFFFu), first,
                         (first + 1 + next) % factors, decode_loading(words[3] & 0xFFu),
                         decode_loading(words[3] >> 8 & 0xFFu)});
  }
}

void LearnableExpression::make(std::int64_t index, float* out) const {
  std::int32_t factor[8];
  for (std::uint32_t k = 0; k < 8; ++k)
    factor[k] = static_cast<std::int32_t>(
                    choice(draw_words(seed_, DrawPurpose::factors, index, k / 4)[k % 4], 512)) -
                256;
  std::vector<std::int32_t> values;
  for (const Loading& loading : loadings_)
    values.push_back(8192 + ((3 * wave(static_cast<std::uint32_t>(
                                      loading.phase + loading.of_first * factor[loading.first] +
                                      loading.of_second * factor[loading.second]))) >>
                             2));
  add_noise(seed_, index, 4, elements(), values.data());
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<float>(values[i]) * 0x1p-14F;
}

std::string LearnableExpression::canonical() const {
  return fmt::format("learnable:i{}seed{}", elements(), seed_);
}

}  // namespace assay
