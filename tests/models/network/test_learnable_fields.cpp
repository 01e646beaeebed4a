#include "models/network/learnable_fields.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "models/network/learnable_oracle.hpp"
#include "tests/core/result_fixture.hpp"

namespace assay {
namespace test_learnable_fields {

constexpr std::int64_t first_of_validation = LearnableSamples::validation_first;

struct Field {
  std::vector<float> values;
  std::vector<std::int64_t> labels;
  Field(const LearnableSamples& samples, std::int64_t index)
      : values(static_cast<std::size_t>(samples.elements())),
        labels(static_cast<std::size_t>(samples.labels())) {
    samples.make(index, values.data());
    samples.make_labels(index, labels.data());
  }
};

/// The sides are even and odd, wide and high, with vortices at borders and rivers that wrap.
TEST(LearnableFields, EqualTheirSecondDefinition) {
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{7} << 33})
    for (const InputShape& shape : {InputShape{5, 16, 27}, InputShape{4, 70, 33}}) {
      const LearnableFields samples(shape, 3, seed);
      for (std::int64_t n = 0; n < 8; ++n) {
        const std::int64_t index = n < 4 ? 1000 * n : first_of_validation + n;
        const Field made(samples, index);
        const FieldOracle oracle(shape, seed, index);
        std::size_t at = 0;
        for (std::int64_t y = 0; y < shape.height; ++y)
          for (std::int64_t x = 0; x < shape.width; ++x) {
            ASSERT_EQ(made.labels[static_cast<std::size_t>(y * shape.width + x)],
                      oracle.label(y, x))
                << index << " " << y << " " << x;
            for (std::int64_t c = 0; c < shape.channels; ++c)
              ASSERT_EQ(made.values[at++], oracle.at(y, x, c))
                  << index << " " << y << " " << x << " " << c;
          }
      }
    }
}

/// Every size is tried: each class in every field or nearly so, and most pixels of none.
TEST(LearnableFields, MostPixelsAreBackground) {
  for (const InputShape& shape : {InputShape{4, 32, 48}, InputShape{4, 96, 144}}) {
    const LearnableFields samples(shape, 3, 1);
    constexpr int fields = 200;
    double pixels[3] = {}, present[3] = {};
    for (std::int64_t n = 0; n < fields; ++n) {
      const Field field(samples, n);
      for (std::int64_t c = 0; c < 3; ++c) {
        const auto count = std::count(field.labels.begin(), field.labels.end(), c);
        pixels[c] += static_cast<double>(count);
        present[c] += count > 0 ? 1 : 0;
      }
    }
    const double all = fields * static_cast<double>(shape.pixels());
    EXPECT_NEAR(pixels[0] / all, 0.95, 0.02);
    EXPECT_NEAR(pixels[1] / all, 0.015, 0.006);
    EXPECT_NEAR(pixels[2] / all, 0.035, 0.015);
    for (const double count : present) EXPECT_GT(count, 0.95 * fields);
  }
}

TEST(LearnableFields, WhatCannotBeMadeIsRefused) {
  for (const auto& [shape, classes] :
       {std::pair{InputShape{3, 32, 32}, 3}, std::pair{InputShape{4, 15, 32}, 3},
        std::pair{InputShape{4, 32, 4097}, 3}, std::pair{InputShape{4, 32, 32}, 4}})
    EXPECT_SAYS(fixture::message_of([&] { LearnableFields(shape, classes, 1); }),
                "classes of pixels in");
}

}  // namespace test_learnable_fields
}  // namespace assay
