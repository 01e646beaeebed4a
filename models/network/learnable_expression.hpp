#pragma once
// Generated vectors like gene expressions, determined by a few hidden factors.

#include <cstdint>
#include <string>
#include <vector>

#include "models/network/learnable_samples.hpp"

namespace assay {

/// A sample has six factors. An element is a wave plus noise; it lies in (0, 1). The element has
/// its own phase, and two of the factors shift this phase, each by its own loading. So the elements
/// of a sample depend on each other, but not linearly. Samples have no labels.
///
/// All arithmetic is in integers, and the last step multiplies by a power of two, so samples are
/// equal on all processors.
class LearnableExpression final : public LearnableSamples {
 public:
  static constexpr int factors = 6;
  /// Computes the loadings. InputError for fewer than 16 elements, or more than 2^24.
  LearnableExpression(std::int64_t elements, std::uint64_t seed);

  std::int64_t classes() const override { return 1; }
  std::int64_t labels() const override { return 0; }
  std::int64_t elements() const override { return static_cast<std::int64_t>(loadings_.size()); }
  void make(std::int64_t index, float* out) const override;
  std::string canonical() const override;  ///< "learnable:i1024seed1"

 private:
  struct Loading {
    std::int32_t phase, first, second;  ///< phase of the wave; numbers of its two factors
    std::int32_t of_first, of_second;   ///< phase for one unit of each factor
  };
  std::uint64_t seed_;
  std::vector<Loading> loadings_;
};

}  // namespace assay
