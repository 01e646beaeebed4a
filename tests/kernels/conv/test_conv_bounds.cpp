// The bounds separate honest arithmetic from cheaper arithmetic: sums are simulated in the
// arithmetic in question, with the oracle's own judgement of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "conv_judge.hpp"

namespace assay {
namespace test_conv_bounds {

using namespace conv_test;

class Bounds : public testing::TestWithParam<std::int64_t> {};

TEST_P(Bounds, HonestFp32PassesWithMargin) {
  const std::int64_t k = GetParam();
  for (const auto& [label, compute] :
       {std::pair<const char*, Arithmetic>{"sequential", sequential_fp32},
        {"fused", fused_fp32},
        {"blocked", blocked_fp32},
        {"pairwise", pairwise_fp32}}) {
    const BoundUse judged = judge(Precision::fp32, k, outputs_for(k), compute);
    EXPECT_LT(judged.largest, 0.6) << label;
    EXPECT_LT(judged.norm, 0.8) << label;
  }
}

TEST_P(Bounds, Tf32AndBf16ArithmeticIsCaughtAtFp32) {
  const std::int64_t k = GetParam();
  for (int bits : {11, 8}) {
    const BoundUse judged = judge(Precision::fp32, k, outputs_for(k), rounded_inputs(bits));
    EXPECT_GT(judged.norm, 4) << bits << " bits";  // not by a hair
    EXPECT_FALSE(judged.passed());
  }
  EXPECT_FALSE(judge(Precision::fp32, k, outputs_for(k), narrow_sum(11)).passed());
}

TEST_P(Bounds, HonestSixteenBitStoragePassesAndNarrowAccumulationIsCaught) {
  const std::int64_t k = GetParam();
  for (Precision precision : {Precision::bf16, Precision::fp16}) {
    const BoundUse judged = judge(precision, k, outputs_for(k), sequential_fp32);
    EXPECT_LT(judged.largest, 1.0) << name(precision);
    EXPECT_LT(judged.norm, 0.95) << name(precision);
    if (k >= 64) {
      const int bits = precision == Precision::bf16 ? 8 : 11;
      EXPECT_FALSE(judge(precision, k, outputs_for(k), narrow_sum(bits)).passed())
          << name(precision);
      EXPECT_FALSE(judge(Precision::fp16, k, outputs_for(k), rounded_inputs(8))
                       .passed());  // bf16 arithmetic on fp16 tensors
    }
  }
}

TEST_P(Bounds, Fp64IsHeldToFp64) {
  const std::int64_t k = GetParam();
  const auto plain = [](const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  EXPECT_TRUE(judge(Precision::fp64, k, 64, plain).passed());
  EXPECT_FALSE(judge(Precision::fp64, k, 64, blocked_fp32).passed());
}

INSTANTIATE_TEST_SUITE_P(Reductions, Bounds, testing::Values(9, 27, 64, 576, 4608, 200704),
                         testing::PrintToStringParamName());

TEST(ConvBounds, NoFalseAlarmInManySmallChecks) {
  // A row fails a correct implementation once in 1e9 checks; few outputs and few products are the
  // delicate cases.
  int failed = 0;
  for (std::int64_t k : {1, 2, 3, 5, 9, 30})
    for (int outputs : {1, 2, 5, 20})
      for (std::uint64_t seed = 0; seed < 500; ++seed)
        for (Precision precision : {Precision::fp32, Precision::bf16})
          failed += !judge(precision, k, outputs, sequential_fp32, seed).passed();
  EXPECT_EQ(failed, 0);
}

TEST(ConvBounds, ACoarserAccumulatorThanTheStorageIsNotForgiven) {
  using convolution::ErrorModel;
  Execution execution = honest(Precision::fp32);
  for (const char* said : {"bf16", "fp16", "tf32", "", "nonsense"}) {
    execution.accumulate = execution.compute = said;
    EXPECT_EQ(ErrorModel::accumulator_roundoff(Precision::fp32, execution), 0x1p-24) << said;
  }
  execution.accumulate = "fp16";
  EXPECT_EQ(ErrorModel::accumulator_roundoff(Precision::fp16, execution), 0x1p-11);
  EXPECT_EQ(ErrorModel::accumulator_roundoff(Precision::fp64, execution), 0x1p-53);
  execution.accumulate = "fp64";
  EXPECT_EQ(ErrorModel::accumulator_roundoff(Precision::fp32, execution), 0x1p-53);
}

TEST(ConvBounds, PaddingAloneMustBeZero) {
  const ConvProblem problem(parse_conv("mb1ic8ih7oc4kh1sh2ph3"), ConvDirection::forward,
                            Precision::fp32);
  const auto indices = all_of(problem.tensors()[2]);
  const auto got = expect(problem, make_inputs(problem, Values::Kind::mantissa, 0),
                          honest(Precision::fp32), false, indices);
  EXPECT_EQ(got[0].value, 0);
  EXPECT_EQ(got[0].max_bound, 0);
}

// ---- Winograd
// ------------------------------------------------------------------------------------------------------

/// 1-D transforms of F(m, 3) with the usual points (Lavin & Gray 2015), row-major.
struct Winograd {
  int m;
  std::vector<float> input, filter, output;  // B^T: a x a, G: a x 3, A^T: m x a
};
Winograd f2() {
  return {2,
          {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1},
          {1, 0, 0, .5f, .5f, .5f, .5f, -.5f, .5f, 0, 0, 1},
          {1, 1, 1, 0, 0, 1, -1, -1}};
}
Winograd f4() {
  const float a = 1.0f / 6, b = 1.0f / 24, c = 1.0f / 12;
  return {4,
          {4, 0,  -5, 0, 1, 0, 0, -4, -4, 1,  1, 0, 0, 4, -4, -1, 1, 0,
           0, -2, -1, 2, 1, 0, 0, 2,  -1, -2, 1, 0, 0, 4, 0,  -5, 0, 1},
          {.25f, 0, 0, -a, -a, -a, -a, a, -a, b, c, a, b, -c, a, 0, 0, 1},
          {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0, 0, 1, 1, 4, 4, 0, 0, 1, -1, 8, -8, 1}};
}

/// out (rows x rows) = T x T^t, all in fp32.
template <class Staged>
std::vector<float> sandwich(const std::vector<float>& t, std::size_t rows, std::size_t inner,
                            const std::vector<float>& x, const Staged& staged) {
  std::vector<float> half(rows * inner), out(rows * rows);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < inner; ++j)
      for (std::size_t k = 0; k < inner; ++k)
        half[i * inner + j] += t[i * inner + k] * x[k * inner + j];
  half = staged(half);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < rows; ++j)
      for (std::size_t k = 0; k < inner; ++k)
        out[i * rows + j] += half[i * inner + k] * t[j * inner + k];
  return out;
}

/// A whole Winograd convolution, in fp32, of a padded square problem; transformed operands are
/// rounded to `bits` (24: not at all), or, where `all_stages`, whatever a stage of a transform
/// gives, and the products' sums.
std::vector<double> winograd(const ConvProblem& problem, const Inputs& inputs, const Winograd& w,
                             int bits, bool all_stages) {
  const auto staged = [&](std::vector<float> values) {
    for (float& value : values)
      if (all_stages) value = static_cast<float>(round_bits(static_cast<double>(value), bits));
    return values;
  };
  const ConvShape& s = problem.shape();
  const auto specs = problem.tensors();
  const Vector src = materialize(inputs.find("src")->second, specs[0].elements()),
               weights = materialize(inputs.find("weights")->second, specs[1].elements());
  const std::int64_t m = w.m, a = m + 2;
  const auto n = static_cast<std::size_t>(a);
  Vector out(static_cast<std::size_t>(specs[2].elements()));
  for (std::int64_t image = 0; image < s.mb; ++image)
    for (std::int64_t o = 0; o < s.oc; ++o)
      for (std::int64_t ty = 0; ty < s.oh; ty += m)
        for (std::int64_t tx = 0; tx < s.ow; tx += m) {
          std::vector<float> sum(n * n);
          for (std::int64_t c = 0; c < s.ic; ++c) {
            std::vector<float> tile(n * n), filter(9);
            for (std::int64_t y = 0; y < a; ++y)
              for (std::int64_t x = 0; x < a; ++x) {
                const std::int64_t iy = ty + y - s.ph, ix = tx + x - s.pw;
                if (iy >= 0 && iy < s.ih && ix >= 0 && ix < s.iw)
                  tile[static_cast<std::size_t>(y * a + x)] = static_cast<float>(
                      src[static_cast<std::size_t>(((image * s.ic + c) * s.ih + iy) * s.iw + ix)]);
              }
            for (std::size_t i = 0; i < 9; ++i)
              filter[i] =
                  static_cast<float>(weights[static_cast<std::size_t>(o * s.ic + c) * 9 + i]);
            const std::vector<float> v = sandwich(w.input, n, n, tile, staged);
            std::vector<float> half(n * 3), u(n * n);
            for (std::size_t i = 0; i < n; ++i)
              for (std::size_t j = 0; j < 3; ++j)
                for (std::size_t k = 0; k < 3; ++k)
                  half[i * 3 + j] += w.filter[i * 3 + k] * filter[k * 3 + j];
            half = staged(half);
            for (std::size_t i = 0; i < n; ++i)
              for (std::size_t j = 0; j < n; ++j)
                for (std::size_t k = 0; k < 3; ++k)
                  u[i * n + j] += half[i * 3 + k] * w.filter[j * 3 + k];
            for (std::size_t i = 0; i < n * n; ++i)
              sum[i] += static_cast<float>(round_bits(static_cast<double>(v[i]), bits)) *
                        static_cast<float>(round_bits(static_cast<double>(u[i]), bits));
          }
          sum = staged(sum);
          std::vector<float> half(static_cast<std::size_t>(m) * n);
          for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i)
            for (std::size_t j = 0; j < n; ++j)
              for (std::size_t k = 0; k < n; ++k)
                half[i * n + j] += w.output[i * n + k] * sum[k * n + j];
          half = staged(half);
          for (std::int64_t y = 0; y < std::min(m, s.oh - ty); ++y)
            for (std::int64_t x = 0; x < std::min(m, s.ow - tx); ++x) {
              float value = 0;
              for (std::size_t k = 0; k < n; ++k)
                value += half[static_cast<std::size_t>(y) * n + k] *
                         w.output[static_cast<std::size_t>(x) * n + k];
              out[static_cast<std::size_t>(((image * s.oc + o) * s.oh + ty + y) * s.ow + tx + x)] =
                  static_cast<double>(value);
            }
        }
  return out;
}

/// Tensors of 16 bits: one whose transformed operands are stored in them; `roundings` is what it
/// says of itself (0: nothing).
BoundUse judge_winograd(const char* text, const Winograd& w, int bits, double tile,
                        Precision precision = Precision::fp32, int roundings = 2,
                        bool all_stages = false) {
  const ConvProblem problem(parse_conv(text), ConvDirection::forward, precision);
  const Inputs inputs = make_inputs(problem, Values::Kind::mantissa, 0);
  Execution execution = honest(precision, "winograd");
  if (tile > 0) execution.tile = tile;
  if (precision != Precision::fp32) {
    execution.compute = std::string(name(precision));
    if (roundings > 0) execution.operand_roundings = roundings;
  }
  Vector got = winograd(problem, inputs, w, bits, all_stages);
  for (double& value : got) value = round_to(storage(precision), value);
  const std::vector<Expected> want =
      expect(problem, inputs, execution, false, all_of(problem.tensors()[2]));
  BoundUse judged;
  double errors = 0, bounds = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - want[i].value);
    judged.largest = std::max(judged.largest, error / want[i].max_bound);
    errors += error * error;
    bounds += want[i].rms_bound * want[i].rms_bound;
  }
  judged.norm = std::sqrt(errors / bounds);
  return judged;
}

TEST(ConvBounds, HonestWinogradPassesAndTf32WinogradFails) {
  for (const char* text : {"mb1ic3ih12oc4kh3ph1", "mb1ic64ih18oc4kh3ph1", "mb2ic16ih9oc8kh3",
                           "mb1ic300ih8oc4kh3ph1"}) {
    for (const auto& [w, tile] : {std::pair{f2(), 2.0}, {f4(), 4.0}, {f4(), 0.0}}) {
      const BoundUse honest_one = judge_winograd(text, w, 24, tile);
      EXPECT_LT(honest_one.largest, 0.5) << text << " tile " << tile;
      EXPECT_LT(honest_one.norm, 0.8) << text << " tile " << tile;
      EXPECT_GT(honest_one.norm, 0.02) << text << " tile " << tile;  // the bound is no formality
      EXPECT_FALSE(judge_winograd(text, w, 11, tile).passed()) << text << " tile " << tile;
      EXPECT_FALSE(judge_winograd(text, w, 8, tile).passed()) << text << " tile " << tile;
    }
  }
}

TEST(ConvBounds, TransformedOperandsOfFewerDigitsThanTheTensorsFail) {
  for (const char* text : {"mb1ic3ih12oc4kh3ph1", "mb1ic64ih18oc4kh3ph1", "mb1ic300ih8oc4kh3ph1"}) {
    for (const auto& [w, tile] : {std::pair{f2(), 2.0}, {f4(), 4.0}})
      for (const auto& [precision, bits] : {std::pair{Precision::fp16, 11}, {Precision::bf16, 8}}) {
        const BoundUse honest_one = judge_winograd(text, w, bits, tile, precision);
        EXPECT_LT(honest_one.largest, 0.7) << text << " tile " << tile << " bits " << bits;
        EXPECT_LT(honest_one.norm, 0.8) << text << " tile " << tile << " bits " << bits;
        EXPECT_GT(honest_one.norm, 0.05) << text << " tile " << tile << " bits " << bits;
        EXPECT_FALSE(judge_winograd(text, w, bits - 4, tile, precision).passed())
            << text << " tile " << tile << " bits " << bits;
      }
  }
}

TEST(ConvBounds, LibrariesMayRoundEveryStageOfWinogradTo16Bits) {
  // An implementation that says nothing of its roundings is held to three; transforms that round
  // each of their stages are within that, too.
  for (const char* text : {"mb1ic3ih12oc4kh3ph1", "mb1ic64ih18oc4kh3ph1", "mb1ic300ih8oc4kh3ph1"})
    for (const auto& [w, tile] : {std::pair{f2(), 2.0}, {f4(), 4.0}, {f4(), 0.0}})
      for (const auto& [precision, bits] : {std::pair{Precision::fp16, 11}, {Precision::bf16, 8}}) {
        const BoundUse judged = judge_winograd(text, w, bits, tile, precision, 0, true);
        EXPECT_LT(judged.largest, 1) << text << " tile " << tile << " bits " << bits;
        EXPECT_LT(judged.norm, 1) << text << " tile " << tile << " bits " << bits;
        EXPECT_GT(judged.norm, 0.05) << text << " tile " << tile << " bits " << bits;
      }
}

TEST(ConvBounds, ErrorsOfWinogradGrowWithItsTile) {
  const auto largest = [](int outputs, int taps) {
    return std::ranges::max(convolution::compute_winograd_amplifications(outputs, taps));
  };
  EXPECT_GT(largest(6, 3), largest(4, 3));
  EXPECT_GT(largest(4, 3), largest(2, 3));
  EXPECT_GT(largest(2, 3), 1);
  EXPECT_EQ(largest(1, 1), 1);
  EXPECT_GE(largest(1, 3), 1);
}

}  // namespace test_conv_bounds
}  // namespace assay
