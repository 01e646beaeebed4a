// The oracle of matrix multiplication against plain loops, and what its bounds and its checksum
// find.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gemm_helpers.hpp"
#include "kernels/oracle/sums.hpp"

namespace assay {
namespace test_gemm_oracle {

using namespace gemm_test;

std::vector<Expected> expect(const GemmProblem& problem, const Inputs& inputs, bool exact) {
  const TensorSpec c = problem.tensors()[2];
  const std::vector<std::int64_t> indices = every_index(c);
  std::vector<Expected> expected(indices.size());
  make_gemm_oracle(problem)->expect(c, inputs, honest(problem.precision()), exact, indices,
                                    expected);
  return expected;
}

/// True if a result keeps to all bounds.
struct BoundUse {
  double largest = 0, norm = 0;  ///< over the bound
  bool passed() const { return largest <= 1 && norm <= 1; }
};
BoundUse judge(const std::vector<double>& got, const std::vector<Expected>& want, DataType type) {
  BoundUse judged;
  double errors = 0, bounds = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(round_to(type, got[i]) - want[i].value);
    judged.largest = std::max(judged.largest, error / want[i].max_bound);
    errors += error * error;
    bounds += want[i].rms_bound * want[i].rms_bound;
  }
  judged.norm = std::sqrt(errors / bounds);
  return judged;
}

TEST(GemmOracle, EqualsPlainLoopsOverRandomShapes) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const GemmProblem problem(random_shape(random, true),
                              all_precisions[static_cast<std::size_t>(i) % all_precisions.size()]);
    const auto oracle = make_gemm_oracle(problem);
    const int magnitude = oracle->exact_magnitude(honest(problem.precision()));
    ASSERT_GT(magnitude, 0) << problem.canonical();
    const Inputs inputs = make_inputs(problem, Values::Kind::integer, magnitude, 5);
    const std::vector<double> c = product(problem, inputs);
    const std::vector<Expected> want = expect(problem, inputs, true);
    for (std::size_t e = 0; e < c.size(); ++e)
      ASSERT_EQ(want[e].value, c[e]) << problem.canonical() << " element " << e;
    const TensorSpec spec = problem.tensors()[2];
    const ChecksumWeights weights(spec.dims, static_cast<std::uint64_t>(i));
    // Kept, but not demanded where C is only written: beta is 0 there, and nothing is padded.
    if (const auto sum = oracle->checksum(spec, inputs, weights))
      ASSERT_EQ(*sum, sum_weighted(c, weights)) << problem.canonical();
    else
      ASSERT_EQ(size_of(spec.type), 2u) << problem.canonical();
  }
}

TEST(GemmOracle, ChecksumFindsOneElementAndAPermutation) {
  for (const char* text : {"m17n13k9", "m17n13k9b3ldc20beta2tatb"}) {
    const GemmProblem problem(parse_gemm(text), Precision::fp32);
    const Inputs inputs = make_inputs(problem, Values::Kind::integer, 50, 7);
    const TensorSpec spec = problem.tensors()[2];
    std::vector<double> c = product(problem, inputs);
    int found = 0, tried = 0;
    for (std::size_t i = 0; i + 1 < c.size(); ++i) {
      const ChecksumWeights weights(spec.dims, i);
      const auto sum = make_gemm_oracle(problem)->checksum(spec, inputs, weights);
      ASSERT_TRUE(sum);
      ASSERT_EQ(sum_weighted(c, weights), *sum);
      c[i] += 1;
      ASSERT_NE(sum_weighted(c, weights), *sum) << text << " element " << i;
      c[i] -= 1;
      if (c[i] == c[i + 1]) continue;
      std::swap(c[i], c[i + 1]);
      ++tried;
      found += sum_weighted(c, weights) != *sum;  // weights are equal in one of 16 draws
      std::swap(c[i], c[i + 1]);
    }
    EXPECT_GT(found, tried * 8 / 10) << text;
  }
}

double rounded(double value, DataType type) { return round_to(type, value); }

TEST(GemmOracle, BoundsPassCorrectArithmetic) {
  std::mt19937 random(4);
  Arithmetic fp32;
  fp32.step = [](double v) { return rounded(v, DataType::fp32); };
  for (int i = 0; i < 60; ++i)
    for (const Precision precision :
         {Precision::fp32, Precision::bf16, Precision::fp16, Precision::bf16_fp32,
          Precision::fp16_fp32, Precision::fp8_e4m3, Precision::fp8_e5m2}) {
      const GemmProblem problem(random_shape(random, false), precision);
      const Inputs inputs = make_inputs(problem, Values::Kind::mantissa, 63, 11);
      const std::vector<Expected> want = expect(problem, inputs, false);
      std::vector<double> got = product(problem, inputs, fp32);
      for (std::size_t e = 0; e < got.size(); ++e) {
        if (want[e].max_bound > 0) continue;
        ASSERT_EQ(got[e], want[e].value);  // padding, as it was
      }
      const DataType type = problem.tensors()[2].type;
      std::vector<double> of_c;
      std::vector<Expected> bounds;
      for (std::size_t e = 0; e < got.size(); ++e)
        if (want[e].max_bound > 0) {
          of_c.push_back(got[e]);
          bounds.push_back(want[e]);
        }
      const BoundUse judged = judge(of_c, bounds, type);
      ASSERT_TRUE(judged.passed()) << problem.canonical() << " " << name(precision) << " "
                                   << judged.largest << " " << judged.norm;
    }
}

double to_tf32(double value) {  // 11 significant bits
  const double scale = std::ldexp(1, std::ilogb(value) - 10);
  return value == 0 ? 0 : std::nearbyint(value / scale) * scale;
}

TEST(GemmOracle, BoundsFindCoarserArithmeticUnderTheNameOfFp32) {
  Arithmetic bf16, tf32, bf16_sums;
  bf16.step = tf32.step = [](double v) { return rounded(v, DataType::fp32); };
  bf16.input = [](double v) { return rounded(v, DataType::bf16); };
  tf32.input = to_tf32;
  bf16_sums.step = [](double v) { return rounded(v, DataType::bf16); };
  for (const char* text :
       {"m24n24k8", "m24n24k300", "m24n24k300alpha0.1beta2", "m8n8k5000beta1ta"}) {
    const GemmProblem problem(parse_gemm(text), Precision::fp32);
    const Inputs inputs = make_inputs(problem, Values::Kind::mantissa, 63, 13);
    const std::vector<Expected> want = expect(problem, inputs, false);
    for (const auto& [what, arithmetic] :
         {std::pair{"bf16 inputs", bf16}, {"tf32 inputs", tf32}, {"bf16 sums", bf16_sums}})
      EXPECT_FALSE(judge(product(problem, inputs, arithmetic), want, DataType::fp32).passed())
          << text << ": " << what;
  }
}

TEST(GemmOracle, BoundsFindAForgottenFactor) {
  const GemmProblem problem(parse_gemm("m24n24k100alpha0.5beta2"), Precision::bf16);
  const Inputs inputs = make_inputs(problem, Values::Kind::mantissa, 63, 17);
  const std::vector<Expected> want = expect(problem, inputs, false);
  for (const char* forgot : {"m24n24k100beta2", "m24n24k100alpha0.5", "m24n24k100alpha0.5beta1"}) {
    const GemmProblem other(parse_gemm(forgot), Precision::bf16);
    EXPECT_FALSE(judge(product(other, inputs), want, DataType::bf16).passed()) << forgot;
  }
}

/// Sums as tensor cores add fp8 products: so many at once with the accumulator, of which each term
/// loses what lies `bits` or more places below the first digit of the largest.
std::vector<double> short_sums(const GemmProblem& problem, const Inputs& inputs, int bits,
                               std::size_t at_once, double (*of_b)(double)) {
  const GemmShape& s = problem.shape();
  const auto a = all_of(inputs.find("a")->second, s.k * s.m),
             b = all_of(inputs.find("b")->second, s.k * s.n);
  const auto k = static_cast<std::size_t>(s.k);
  std::vector<double> all;
  for (std::size_t j = 0; j < static_cast<std::size_t>(s.n); ++j)
    for (std::size_t i = 0; i < static_cast<std::size_t>(s.m); ++i) {
      double sum = 0;
      for (std::size_t first = 0; first < k; first += at_once) {
        std::vector<double> terms{sum};
        for (std::size_t p = first; p < std::min(k, first + at_once); ++p)
          terms.push_back(a[i * k + p] * of_b(b[j * k + p]));
        double largest = 0, total = 0;
        for (const double term : terms) largest = std::max(largest, std::abs(term));
        const double unit = std::ldexp(1, std::ilogb(largest) - bits + 1);
        for (const double term : terms) total += std::trunc(term / unit);
        const double kept = std::ldexp(1, std::ilogb(total * unit) - bits + 1);
        sum = total == 0 ? 0 : std::trunc(total * unit / kept) * kept;
      }
      all.push_back(sum);
    }
  return all;
}

TEST(GemmOracle, BoundsPassSumsOf14BitsOfFp8AndFindCoarserOnes) {
  const auto same = [](double v) { return v; };
  for (const Precision precision : {Precision::fp8_e4m3, Precision::fp8_e5m2})
    for (const char* text : {"m24n24k16ta", "m24n24k512ta", "m16n16k8192ta"}) {
      const GemmProblem problem(parse_gemm(text), precision);
      const Inputs inputs = make_inputs(problem, Values::Kind::mantissa, 63, 19);
      const TensorSpec c = problem.tensors()[2];
      const std::vector<std::int64_t> indices = every_index(c);
      std::vector<Expected> want(indices.size());
      Execution hopper;
      hopper.accumulate = sums::truncating_fp22;
      make_gemm_oracle(problem)->expect(c, inputs, hopper, false, indices, want);
      const auto judged = [&](int bits, std::size_t at_once, double (*of_b)(double)) {
        return judge(short_sums(problem, inputs, bits, at_once, of_b), want, c.type);
      };
      for (const std::size_t at_once : {16u, 32u}) {
        const BoundUse right = judged(14, at_once, same);
        EXPECT_TRUE(right.passed()) << text << " " << right.largest << " " << right.norm;
        EXPECT_GT(right.norm, 0.03) << text;
      }
      EXPECT_FALSE(judged(7, 32, same).passed()) << text;
      // Inputs of a digit less, where the bound is not yet that of long sums.
      if (problem.shape().k < 1000 && precision == Precision::fp8_e4m3) {
        const auto shorter = [](double v) { return round_to(DataType::fp8_e5m2, v); };
        EXPECT_FALSE(judged(14, 32, shorter).passed()) << text;
      }
      // 14 bits under the name of fp32 are too few for a long sum.
      if (problem.shape().k > 1000) {
        const std::vector<Expected> of_fp32 = expect(problem, inputs, false);
        EXPECT_FALSE(judge(short_sums(problem, inputs, 14, 16, same), of_fp32, c.type).passed());
      }
    }
}

TEST(GemmOracle, IntegersOfFp8AreHeldByBothFormatsAndTheirSums) {
  for (const Precision precision : {Precision::fp8_e4m3, Precision::fp8_e5m2})
    for (const double k : {16.0, 1024.0, 8192.0, 65536.0}) {
      const GemmProblem problem(parse_gemm("m16n16ta_k" + std::to_string(static_cast<int>(k))),
                                precision);
      Execution hopper;
      hopper.accumulate = sums::truncating_fp22;
      const int magnitude = make_gemm_oracle(problem)->exact_magnitude(hopper);
      EXPECT_GE(magnitude, 1) << k;
      EXPECT_LE(magnitude, 4) << k;
      for (const DataType type : {DataType::fp8_e4m3, DataType::fp8_e5m2})
        EXPECT_EQ(round_to(type, magnitude), magnitude);
    }
}

TEST(GemmOracle, SampleHasCornersEdgesAndPadding) {
  const GemmProblem problem(parse_gemm("m1000n700k500b2ldc1010beta1"), Precision::fp32);
  const TensorSpec c = problem.tensors()[2];
  const auto oracle = make_gemm_oracle(problem);
  const auto sample = oracle->sample(c, 2e6, 1);
  EXPECT_GT(sample.size(), 1000u);
  EXPECT_LE(static_cast<double>(sample.size()), 2e6 / 532);
  EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
  EXPECT_EQ(std::set<std::int64_t>(sample.begin(), sample.end()).size(), sample.size());
  EXPECT_EQ(sample.front(), 0);
  std::set<std::int64_t> rows, columns, batches;
  for (const std::int64_t index : sample) {
    ASSERT_LT(index, c.elements());
    rows.insert(index % 1010);
    columns.insert(index / 1010 % 700);
    batches.insert(index / (1010 * 700));
  }
  for (const std::int64_t row : {0, 15, 16, 991, 992, 999, 1000, 1009})
    EXPECT_TRUE(rows.contains(row));
  for (const std::int64_t column : {0, 15, 16, 671, 672, 699})
    EXPECT_TRUE(columns.contains(column));
  EXPECT_EQ(batches.size(), 2u);
  EXPECT_NE(oracle->sample(c, 2e6, 2), sample);
  EXPECT_EQ(static_cast<std::int64_t>(oracle->sample(c, 1e12, 1).size()), c.elements());
  EXPECT_EQ(oracle->sample(c, 1, 1).size(), 16u);
}

/// The instructions of AMX and AVX-512 for products of bf16 read and write subnormal numbers as 0,
/// always. A network's gradients may be so small.
TEST(GemmOracle, BoundsPassSubnormalNumbersThatBecomeZero) {
  const auto flushed = [](double v) { return std::abs(v) < 0x1p-126 ? 0.0 : v; };
  Arithmetic flushes;
  flushes.input = flushed;
  flushes.step = flushed;
  const GemmProblem problem(parse_gemm("m6n5k64ta"), Precision::bf16);
  const TensorSpec c = problem.tensors()[2];
  // Their products are subnormal, but not their sum; or operands are.
  for (const auto& [of_a, of_b] : {std::pair{0x1.8p-100, 0x1p-30}, {0x1.8p-130, 0x1p4}}) {
    const auto stored = [](std::int64_t count, double value) {
      return Values(std::vector<double>(static_cast<std::size_t>(count), value));
    };
    const auto inputs_of = [&, of_a = of_a, of_b = of_b](double scale) {
      Inputs inputs;
      inputs.emplace("a", stored(64 * 6, of_a * scale));
      inputs.emplace("b", stored(64 * 5, of_b));
      inputs.emplace("c", stored(30, 0));
      return inputs;
    };
    const Inputs small = inputs_of(1), normal = inputs_of(0x1p40);
    const std::vector<double> lost = product(problem, small, flushes);
    EXPECT_EQ(lost, std::vector<double>(30));
    EXPECT_NE(product(problem, small), lost);
    EXPECT_TRUE(judge(lost, expect(problem, small, false), c.type).passed()) << of_a;
    // Nothing else passes so: the same sums of larger numbers with a term too few.
    std::vector<double> faulty = product(problem, normal);
    for (double& of : faulty) of *= 63.0 / 64;
    EXPECT_FALSE(judge(faulty, expect(problem, normal, false), c.type).passed()) << of_a;
    EXPECT_FALSE(judge(lost, expect(problem, normal, false), c.type).passed()) << of_a;
  }
}

TEST(GemmOracle, NoIntegersWhereFactorsAreNone) {
  const auto magnitude = [](const char* text, Precision precision) {
    return make_gemm_oracle({parse_gemm(text), precision})->exact_magnitude(honest(precision));
  };
  EXPECT_EQ(magnitude("m4n4k4alpha0.1", Precision::fp32), 0);
  EXPECT_EQ(magnitude("m4n4k4beta0.5", Precision::fp64), 0);
  EXPECT_GT(magnitude("m4n4k4alpha3beta-2", Precision::bf16), 0);
  EXPECT_GT(magnitude("m4n4k4alpha3", Precision::fp32), magnitude("m4n4k4alpha3", Precision::bf16));
}

}  // namespace test_gemm_oracle
}  // namespace assay
