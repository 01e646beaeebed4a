#pragma once
// Generated fields like weather, with labels of pixels that a small network can learn.

#include <cstdint>
#include <string>

#include "models/network/input_shape.hpp"
#include "models/network/learnable_samples.hpp"

namespace assay {

/// A field is a function of the seed and its index. Each channel has two waves of 1 to 3 periods
/// along each axis, and noise of a third of their deviation. The planted objects are:
/// - one or two vortices (class 1: pixels within a radius of 1/16 of the shorter side and more):
///   they turn the wind (channels 0 and 1), and have low pressure (2) and humid air (3);
/// - one or two rivers (class 2: pixels within 1/48 of that side of a bent line): they have humid
///   air, and a wind along the rows.
/// All other pixels, about 19 of 20, are background (class 0). Where a vortex and a river overlap,
/// the class is that of the vortex. A planted object fades beyond its edge; at the edge it is as
/// strong as three deviations of the waves. Columns are cyclic, rows are not; further channels
/// contain only weather.
///
/// All arithmetic is in integers, and the last step multiplies by a power of two, so fields are
/// equal on all processors.
class LearnableFields final : public LearnableSamples {
 public:
  static constexpr std::int64_t field_classes = 3;
  /// InputError for other classes than 3, fewer than 4 channels, and sides below 16 or above 4096.
  LearnableFields(const InputShape& shape, std::int64_t classes, std::uint64_t seed);

  std::int64_t classes() const override { return field_classes; }
  std::int64_t elements() const override { return shape_.elements(); }
  std::int64_t labels() const override { return shape_.pixels(); }
  void make(std::int64_t index, float* out) const override;
  void make_labels(std::int64_t index, std::int64_t* out) const override;
  std::string canonical() const override;  ///< "learnable:c3i16h96w144seed1"

 private:
  /// A planted object at a pixel: `strength` is 256 at the object's centre and 128 at its edge.
  struct PlantedObject {
    std::int64_t row, column, strength;
    std::int64_t down = 0, right = 0, radius = 0;  ///< of vortices: from the centre
  };
  /// Calls body(planted) for all pixels that a vortex, or a river, reaches.
  template <class Body>
  void for_each_of_vortices(std::int64_t index, const Body& body) const;
  template <class Body>
  void for_each_of_rivers(std::int64_t index, const Body& body) const;
  void add_weather(std::int64_t index, std::int32_t* sums) const;
  std::int64_t place(const PlantedObject& at) const { return at.row * shape_.width + at.column; }

  InputShape shape_;
  std::int64_t side_;  ///< the shorter one
  std::uint64_t seed_;
};

}  // namespace assay
