#include "models/network/learnable_vectors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "models/network/learnable_draws.hpp"

namespace assay {
namespace {

constexpr std::uint32_t one_in_markers = 4;
// Compared with a random byte. An element is not 0 if the byte is below of_class (of_others), and 2
// if it is below twice_of_class (twice_of_others).
constexpr std::uint8_t of_class = 64, of_others = 6, twice_of_class = 16, twice_of_others = 1;

}  // namespace

LearnableVectors::LearnableVectors(std::int64_t elements, std::int64_t classes, std::uint64_t seed)
    : classes_(classes), seed_(seed) {
  constexpr std::int64_t least = 16, most = std::int64_t{1} << 24, most_classes = 1 << 20;
  if (classes < 2 || classes > most_classes || elements < least || elements > most)
    throw InputError(
        fmt::format("{} classes of vectors with {} elements cannot be made (2 to {} classes, {} to "
                    "{} elements). Choose others.",
                    classes, elements, most_classes, least, most));
  markers_.resize(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint32_t word =
        draw_words(seed, DrawPurpose::markers, i / 4, 0)[static_cast<std::size_t>(i % 4)];
    const std::uint64_t scaled =
        std::uint64_t{word / one_in_markers} * static_cast<std::uint64_t>(classes) * one_in_markers;
    markers_[static_cast<std::size_t>(i)] =
        word % one_in_markers == 0 ? static_cast<std::int32_t>(scaled >> 32) : -1;
  }
}

void LearnableVectors::make(std::int64_t index, float* out) const {
  const auto own = static_cast<std::int32_t>(label(index));
  const std::int64_t count = elements();
  for (std::int64_t first = 0; first < count; first += 16) {
    const auto words = draw_words(seed_, DrawPurpose::counts, index, first / 16);
    const std::int64_t here = std::min<std::int64_t>(16, count - first);
    for (std::int64_t i = 0; i < here; ++i) {
      const bool marks = markers_[static_cast<std::size_t>(first + i)] == own;
      const std::uint32_t byte = words[static_cast<std::size_t>(i / 4)] >> (8 * (i % 4)) & 0xFFu;
      const int counted = byte < (marks ? of_class : of_others) ? 1 : 0,
                twice = byte < (marks ? twice_of_class : twice_of_others) ? 1 : 0;
      out[first + i] = static_cast<float>(counted + twice);
    }
  }
}

std::string LearnableVectors::canonical() const {
  return fmt::format("learnable:c{}i{}seed{}", classes_, elements(), seed_);
}

}  // namespace assay
