#pragma once
// Generated sparse vectors of counts, like genotypes, whose classes a small network learns.

#include <cstdint>
#include <string>
#include <vector>

#include "models/network/learnable_samples.hpp"

namespace assay {

/// A quarter of the elements are markers, each for one class. An element is 1 or 2 with a
/// probability of 1/4 if it marks the sample's class, and of 1/40 if not; otherwise it is 0. So no
/// single element reveals the class, but all markers together do.
///
/// All numbers are whole: samples are equal on all processors.
class LearnableVectors final : public LearnableSamples {
 public:
  /// Computes the markers. InputError for fewer than 2 classes or 16 elements, or more than 2^24.
  LearnableVectors(std::int64_t elements, std::int64_t classes, std::uint64_t seed);

  std::int64_t classes() const override { return classes_; }
  std::int64_t elements() const override { return static_cast<std::int64_t>(markers_.size()); }
  void make(std::int64_t index, float* out) const override;
  std::string canonical() const override;  ///< "learnable:c10i1024seed1"

 private:
  std::int64_t classes_;
  std::uint64_t seed_;
  std::vector<std::int32_t> markers_;  ///< the class of each element; -1: no marker
};

}  // namespace assay
