#pragma once
// Generated samples that a small network can learn within minutes.

#include <cstdint>
#include <memory>
#include <string>

#include "models/network/input_shape.hpp"

namespace assay {

/// A sample is a function of the seed and its index, the same on all processors.
class LearnableSamples {
 public:
  LearnableSamples() = default;
  LearnableSamples(const LearnableSamples&) = delete;
  LearnableSamples& operator=(const LearnableSamples&) = delete;
  virtual ~LearnableSamples() = default;

  /// Index of the first sample for validation; samples for training have lower indices.
  static constexpr std::int64_t validation_first = std::int64_t{1} << 40;

  virtual std::int64_t classes() const = 0;
  virtual std::int64_t elements() const = 0;         ///< of a sample
  virtual std::int64_t labels() const { return 1; }  ///< of a sample
  /// The class of a sample that has one label: index mod classes.
  std::int64_t label(std::int64_t index) const { return index % classes(); }
  /// Computes sample `index` (>= 0): [height, width, channels] in row-major order. Several threads
  /// may call it.
  virtual void make(std::int64_t index, float* out) const = 0;
  /// The labels of sample `index`.
  virtual void make_labels(std::int64_t index, std::int64_t* out) const {
    if (labels() > 0) *out = label(index);
  }
  /// "learnable:c10s32seed1".
  virtual std::string canonical() const = 0;
};

/// LearnableFields if pixels have labels, LearnableExpression for vectors without labels; else
/// LearnableImages for photographs, LearnableVectors for vectors. InputError for other shapes, and
/// as from their constructors.
std::shared_ptr<const LearnableSamples> learnable_samples(const InputShape& shape, Labels labels,
                                                          std::int64_t classes, std::uint64_t seed);

}  // namespace assay
