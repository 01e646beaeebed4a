#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "conv_helpers.hpp"
#include "kernels/conv/bounds.hpp"

namespace assay {
namespace test_conv_oracle {

using namespace conv_test;

TEST(ConvOracle, EqualsBruteForceOverRandomShapes) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const ConvShape shape = random_shape(random);
    for (ConvDirection direction : directions) {
      for (Precision precision : {Precision::fp32, Precision::fp64}) {
        const ConvProblem problem(shape, direction, precision);
        const Inputs inputs =
            make_inputs(problem, Values::Kind::mantissa, 0, static_cast<std::uint64_t>(i));
        const std::vector<long double> want = brute_force(problem, inputs);
        const std::vector<Expected> got =
            expect(problem, inputs, honest(precision), false, all_of(problem.tensors()[2]));
        const long double allowed = precision == Precision::fp64
                                        ? 1.2e-16L
                                        : 1e-14L;  // fp64's own reference is better than fp64
        for (std::size_t e = 0; e < want.size(); ++e) {
          ASSERT_LE(std::abs(got[e].value - want[e]), allowed * std::max(1.0L, std::abs(want[e])))
              << problem.canonical() << " direction " << static_cast<int>(direction) << " element "
              << e;
          ASSERT_GE(got[e].max_bound, 0);
          ASSERT_GE(got[e].rms_bound, 0);
        }
      }
    }
  }
}

TEST(ConvOracle, IntegersAreExactAndTheChecksumIsTheirSum) {
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    const ConvShape shape = random_shape(random);
    for (ConvDirection direction : directions) {
      for (Precision precision : {Precision::fp32, Precision::int8}) {
        if (precision == Precision::int8 && direction != ConvDirection::forward) continue;
        const ConvProblem problem(shape, direction, precision);
        const TensorSpec output = problem.tensors()[2];
        const auto oracle = make_conv_oracle(problem);
        const int magnitude = oracle->exact_magnitude(honest(precision));
        ASSERT_GE(magnitude, 1);
        const Inputs inputs =
            make_inputs(problem, Values::Kind::integer, magnitude, static_cast<std::uint64_t>(i));
        const std::vector<long double> want = brute_force(problem, inputs);
        const std::vector<Expected> got =
            expect(problem, inputs, honest(precision), true, all_of(output));
        const ChecksumWeights weights(output.dims, static_cast<std::uint64_t>(i));
        for (std::size_t e = 0; e < want.size(); ++e) {
          ASSERT_EQ(got[e].value, static_cast<double>(want[e]));
          ASSERT_EQ(got[e].max_bound, 0);
          ASSERT_EQ(got[e].rms_bound, 0);
        }
        const std::vector<double> exact(want.begin(), want.end());
        const std::optional<double> checksum = oracle->checksum(output, inputs, weights);
        ASSERT_TRUE(checksum.has_value());
        // Equal to the last bit: so any single wrong integer, anywhere, makes the sum of the real
        // output another number.
        ASSERT_EQ(*checksum, sum_weighted(exact, weights))
            << problem.canonical() << " direction " << static_cast<int>(direction);
      }
    }
  }
}

TEST(ConvOracle, OneWrongIndexChangesResultsAndChecksum) {
  // A convolution with a shifted tap, as a faulty kernel makes it, must differ in elements, and in
  // its sum.
  std::mt19937 random(5);
  int different = 0, checked = 0;
  for (int i = 0; i < 300; ++i) {
    const ConvShape shape = random_shape(random, false);
    if (shape.kw < 2 || shape.pw != 0 || shape.pw_r > 0)
      continue;  // every tap reads inside, and reads something else
    const ConvProblem problem(shape, ConvDirection::forward, Precision::fp32);
    const Inputs inputs = make_inputs(problem, Values::Kind::integer, 50);
    const auto specs = problem.tensors();
    const auto a = materialize(inputs.find("src")->second, specs[0].elements()),
               b = materialize(inputs.find("weights")->second, specs[1].elements());
    const ChecksumWeights factors(specs[2].dims, static_cast<std::uint64_t>(i));
    std::vector<double> factor(static_cast<std::size_t>(specs[2].elements()));
    factors.fill(0, factor);
    double right = 0, wrong = 0;
    for_each_product(shape, [&](std::int64_t src, std::int64_t weights, std::int64_t dst) {
      const double scaled =
          factor[static_cast<std::size_t>(dst)] * a[static_cast<std::size_t>(src)];
      right += scaled * b[static_cast<std::size_t>(weights)];
      wrong += scaled * b[static_cast<std::size_t>(weights / shape.kw * shape.kw + shape.kw - 1 -
                                                   weights % shape.kw)];
    });
    ASSERT_EQ(make_conv_oracle(problem)->checksum(specs[2], inputs, factors), right);
    ++checked;
    different += wrong != right;
  }
  EXPECT_GT(checked, 10);
  EXPECT_EQ(different, checked);
}

TEST(ConvOracle, ExactMagnitudeKeepsSumsExact) {
  const auto magnitude = [](const std::string& text, ConvDirection direction, Precision precision,
                            const Execution& execution) {
    return make_conv_oracle(ConvProblem(parse_conv(text), direction, precision))
        ->exact_magnitude(execution);
  };
  for (const char* text : {"mb1ic1ih4oc1kh1", "mb16ic64ih112oc128oh112kh3ph1",
                           "mb64ic512ih7oc2048kh1", "mb2ic2048ih7oc512kh7"})
    for (ConvDirection direction : directions) {
      const ConvProblem problem(parse_conv(text), direction, Precision::fp32);
      const ConvShape& s = problem.shape();
      const double k = direction == ConvDirection::forward ? static_cast<double>(s.ic * s.kh * s.kw)
                       : direction == ConvDirection::bwd_data
                           ? static_cast<double>(s.oc * s.kh * s.kw)
                           : static_cast<double>(s.mb * s.oh * s.ow);
      for (Precision precision :
           {Precision::fp32, Precision::bf16, Precision::fp16, Precision::fp64}) {
        const int m = magnitude(text, direction, precision, honest(precision));
        EXPECT_GE(m, 1) << text;
        EXPECT_LE(k * m * m, precision == Precision::fp64 ? 0x1p53 : 0x1p24) << text;
        EXPECT_LE(m, precision == Precision::bf16 ? 256 : 2048);
      }
    }
  // An accumulator of 16 bits holds fewer.
  Execution narrow = honest(Precision::fp16);
  narrow.accumulate = "fp16";
  const int m = magnitude("mb1ic8ih4oc8kh3", ConvDirection::forward, Precision::fp16, narrow);
  EXPECT_GE(m, 1);
  EXPECT_LE(72 * m * m, 2048);
  EXPECT_EQ(magnitude("mb1ic64ih4oc8kh3", ConvDirection::forward, Precision::fp32,
                      honest(Precision::fp32, "winograd")),
            0);
  EXPECT_EQ(magnitude("mb1ic64ih4oc8kh3", ConvDirection::forward, Precision::fp32,
                      honest(Precision::fp32, "fft_tiling")),
            0);
}

TEST(ConvOracle, SixteenBitOutputsHaveAChecksumOnlyWhereTheyAreExact) {
  // K = 576: with the magnitude the oracle itself chooses the sums stay integers of bf16; with
  // larger ones they do not.
  const ConvProblem problem(parse_conv("mb1ic64ih8oc16kh3ph1"), ConvDirection::forward,
                            Precision::bf16);
  const auto oracle = make_conv_oracle(problem);
  const TensorSpec output = problem.tensors()[2];
  const int magnitude = oracle->exact_magnitude(honest(Precision::bf16));
  const Inputs inputs = make_inputs(problem, Values::Kind::integer, magnitude);
  const ChecksumWeights weights(output.dims, 1);
  ASSERT_TRUE(oracle->checksum(output, inputs, weights).has_value());
  for (const Expected& e : expect(problem, inputs, honest(Precision::bf16), true, all_of(output)))
    ASSERT_EQ(round_to(DataType::bf16, e.value), e.value);
  EXPECT_FALSE(oracle->checksum(output, make_inputs(problem, Values::Kind::integer, 100), weights)
                   .has_value());
  const ConvProblem longer(parse_conv("mb16ic64ih112oc16kh3ph1"), ConvDirection::bwd_weights,
                           Precision::bf16);
  EXPECT_FALSE(make_conv_oracle(longer)
                   ->checksum(longer.tensors()[2], make_inputs(longer, Values::Kind::integer, 1),
                              ChecksumWeights(longer.tensors()[2].dims, 1))
                   .has_value());
}

TEST(ConvOracle, SaturationOfSixteenBitPairsIsImpossible) {
  const ConvProblem problem(parse_conv("mb1ic64ih8oc16kh3ph1"), ConvDirection::forward,
                            Precision::int8);
  const auto specs = problem.tensors();
  const auto oracle = make_conv_oracle(problem);
  const auto largest = [&](std::size_t i) {
    double most = 0;
    for (double v : materialize(Values(Values::Kind::mantissa, 1, specs[i].name, specs[i].type,
                                       oracle->full_magnitude(specs[i])),
                                specs[i].elements()))
      most = std::max(most, std::abs(v));
    return most;
  };
  EXPECT_EQ(largest(0), 255);
  EXPECT_EQ(largest(1), 63);
  EXPECT_LE(2 * largest(0) * largest(1), 32767);
}

TEST(ConvSample, IsSortedDistinctWithinTheBudgetAndCoversTheEdges) {
  for (const char* text :
       {"mb16ic64ih112oc128oh112kh3ph1", "g8mb3ic72ih57iw31oc136kh5kw3sh2sw1ph2pw1",
        "mb2ic20id17ih18iw19oc33kd3kh3kw3"})
    for (ConvDirection direction : directions) {
      const ConvProblem problem(parse_conv(text), direction, Precision::fp32);
      const auto oracle = make_conv_oracle(problem);
      const TensorSpec output = problem.tensors()[2];
      const std::vector<std::int64_t> sample = oracle->sample(output, 2e7, 1);
      ASSERT_TRUE(std::is_sorted(sample.begin(), sample.end()));
      ASSERT_TRUE(std::adjacent_find(sample.begin(), sample.end()) == sample.end());
      ASSERT_GE(sample.front(), 0);
      ASSERT_LT(sample.back(), output.elements());
      const ConvShape& s = problem.shape();
      const double k = direction == ConvDirection::forward
                           ? static_cast<double>(s.ic / s.g * s.kd * s.kh * s.kw)
                       : direction == ConvDirection::bwd_data
                           ? static_cast<double>(s.oc / s.g * s.kd * s.kh * s.kw)
                           : static_cast<double>(s.mb * s.od * s.oh * s.ow);
      EXPECT_LE(static_cast<double>(sample.size()) * k, 2e7) << text;
      if (static_cast<double>(sample.size()) < static_cast<double>(output.elements())) {
        EXPECT_GE(static_cast<double>(sample.size()), 0.5 * 2e7 / (k + 32)) << text;
      }
      // First and last of every dimension, and all corners.
      std::vector<std::set<std::int64_t>> seen(output.dims.size());
      std::set<std::int64_t> chosen(sample.begin(), sample.end());
      for (std::int64_t index : sample)
        for (std::size_t d = output.dims.size(); d-- > 0; index /= output.dims[d])
          seen[d].insert(index % output.dims[d]);
      for (std::size_t d = 0; d < seen.size(); ++d)
        for (std::int64_t at :
             {std::int64_t{0}, std::int64_t{1}, output.dims[d] - 2, output.dims[d] - 1})
          EXPECT_TRUE(at < 0 || at >= output.dims[d] || sample.size() <= 200 ||
                      seen[d].contains(at))
              << text << " dim " << d << " at " << at;
      EXPECT_TRUE(chosen.contains(0));
      EXPECT_TRUE(chosen.contains(output.elements() - 1));
      EXPECT_EQ(sample, oracle->sample(output, 2e7, 1));
      if (static_cast<double>(sample.size()) < static_cast<double>(output.elements())) {
        EXPECT_NE(sample, oracle->sample(output, 2e7, 2));
      }
    }
}

TEST(ConvSample, TakesAllWhereAllAreCheap) {
  const ConvProblem problem(parse_conv("mb1ic3ih9oc4kh3"), ConvDirection::forward, Precision::fp32);
  EXPECT_EQ(make_conv_oracle(problem)->sample(problem.tensors()[2], 2e7, 1),
            all_of(problem.tensors()[2]));
}

TEST(ConvSample, ReachesEveryChannelBlocksLastPart) {
  // 100 channels: the last blocks begin at 64 (of 64, 32), 96 (of 32, 16, 8) and 96 (of 4).
  const ConvProblem problem(parse_conv("mb16ic64ih112oc100oh112kh3ph1"), ConvDirection::forward,
                            Precision::fp32);
  const TensorSpec output = problem.tensors()[2];
  std::set<std::int64_t> channels;
  for (std::int64_t index : make_conv_oracle(problem)->sample(output, 3e5, 9))
    channels.insert(index / (112 * 112) % 100);
  for (std::int64_t c : {0, 7, 8, 15, 16, 63, 64, 95, 96, 99})
    EXPECT_TRUE(channels.contains(c)) << c;
}

}  // namespace test_conv_oracle
}  // namespace assay
