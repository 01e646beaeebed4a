// Items of losses that compute a pack at once have the bits of those that compute one element.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/cuda/loss_items.hpp"
#include "kernels/cuda/pixel_loss_items.hpp"

namespace assay::cuda {
namespace test_loss_items {

template <class Stored>
std::vector<Stored> random_numbers(std::int64_t count) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal(0, 2);
  std::vector<Stored> numbers(static_cast<std::size_t>(count));
  for (Stored& number : numbers) number = Stored(normal(random));
  return numbers;
}

template <class Numbers>
bool same_bits(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
}

template <class Stored>
struct Gradients {
  std::vector<Stored> to;
  std::vector<double> sums;

  template <int width>
  static Gradients by(std::int64_t samples, std::int64_t classes) {
    using Value = ValueOf<Stored>;
    const std::vector<Stored> logits = random_numbers<Stored>(samples * classes);
    const std::vector<Value> bias = random_numbers<Value>(classes);
    std::vector<std::int32_t> labels, correct(static_cast<std::size_t>(samples));
    for (std::int64_t n = 0; n < samples; ++n)
      labels.push_back(static_cast<std::int32_t>(7 * n % classes));
    std::vector<Value> losses(labels.size());
    std::vector<LossSoftmax<Value>> softmax(labels.size());
    const LossOfSample<Stored> of{logits.data(), bias.data(),   labels.data(),  classes,
                                  0.1,           losses.data(), correct.data(), softmax.data()};
    for (std::int64_t i = 0; i < samples * warp_lanes; ++i) of(i);
    const std::int64_t parts = (samples + loss_rows - 1) / loss_rows;
    Gradients made{std::vector<Stored>(logits.size()),
                   std::vector<double>(static_cast<std::size_t>(parts * classes))};
    const Value scale = 128;
    const LossGradients<Stored, width> item{of, &scale, samples, made.to.data(), made.sums.data()};
    for (std::int64_t i = parts * (classes / width); i-- > 0;) item(i);
    return made;
  }
};

template <class Stored>
void expect_gradients() {
  const auto one = Gradients<Stored>::template by<1>(19, 48),
             packs = Gradients<Stored>::template by<widest<Stored>>(19, 48);
  EXPECT_TRUE(same_bits(one.to, packs.to));
  EXPECT_TRUE(same_bits(one.sums, packs.sums));
}

TEST(LossItems, MakeTheSameGradientsByPacks) {
  expect_gradients<double>();
  expect_gradients<float>();
  expect_gradients<__half>();
}

template <class Stored>
struct Pixels {
  std::vector<double> losses, counts;
  std::vector<Stored> to;

  template <int known>
  static Pixels by(std::int64_t samples, std::int64_t plane, bool training) {
    using Value = ValueOf<Stored>;
    const std::int64_t parts = (plane + pixels_of_thread - 1) / pixels_of_thread;
    const std::vector<Stored> logits = random_numbers<Stored>(samples * plane * 3);
    std::vector<std::int32_t> labels;
    for (std::int64_t i = 0; i < samples * plane; ++i)
      labels.push_back(static_cast<std::int32_t>(i * i % 7 % 3));
    const Value weights[] = {1, 3, 0.5}, scale = 64;
    Pixels made{std::vector<double>(static_cast<std::size_t>(parts * samples)),
                std::vector<double>(static_cast<std::size_t>(parts * samples * 9)),
                std::vector<Stored>(training ? logits.size() : 0)};
    const LossOfPixels<Stored, known> item{logits.data(),
                                           labels.data(),
                                           weights,
                                           training ? &scale : nullptr,
                                           samples,
                                           3,
                                           plane,
                                           made.losses.data(),
                                           made.counts.data(),
                                           made.to.data()};
    for (std::int64_t i = parts * samples; i-- > 0;) item(i);
    return made;
  }
};

template <class Stored>
void expect_pixels() {
  for (const std::int64_t plane : {8, 16, 40})
    for (const bool training : {false, true}) {
      const auto any = Pixels<Stored>::template by<0>(3, plane, training),
                 known = Pixels<Stored>::template by<3>(3, plane, training);
      EXPECT_TRUE(same_bits(any.counts, known.counts));
      EXPECT_TRUE(same_bits(any.to, known.to));
      EXPECT_TRUE(same_bits(any.losses, known.losses));
    }
}

TEST(LossItems, HaveTheSamePixelsByPacks) {
  expect_pixels<double>();
  expect_pixels<float>();
  expect_pixels<__half>();
}

}  // namespace test_loss_items
}  // namespace assay::cuda
