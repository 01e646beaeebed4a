// The oracle of the Gram matrix against plain loops, and what its bounds and its checksum find.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/base/error.hpp"
#include "kernels/oracle/draw.hpp"
#include "tests/kernels/linalg/linalg_helpers.hpp"

namespace assay {
namespace test_linalg_oracle {

using namespace linalg_test;

/// x^T x with operands and partial sums rounded as told, in sequence.
std::vector<double> gram(const LinalgProblem& problem, const Inputs& inputs,
                         double (*operand)(double), double (*sum)(double)) {
  const auto d = static_cast<std::size_t>(problem.shape().d);
  std::vector<double> row(d), c(d * d);
  for (std::int64_t r = 0; r < problem.shape().n; ++r) {
    inputs.find("x")->second.fill(r * problem.shape().d, row);
    for (double& value : row) value = operand(value);
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) c[i * d + j] = sum(c[i * d + j] + row[i] * row[j]);
  }
  return c;
}

/// True if all elements keep to the bounds.
bool passes(const LinalgProblem& problem, const Inputs& inputs, const std::vector<double>& got) {
  const TensorSpec c = problem.tensors()[1];
  const std::vector<std::int64_t> indices = every_index(c);
  std::vector<Expected> want(indices.size());
  make_linalg_oracle(problem)->expect(c, inputs, honest(problem.precision()), false, indices, want);
  double errors = 0, bounds = 0;
  bool passed = true;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - want[i].value);
    passed = passed && error <= want[i].max_bound;
    errors += error * error;
    bounds += want[i].rms_bound * want[i].rms_bound;
  }
  return passed && errors <= bounds;
}

double sum_weighted(const std::vector<double>& values, const ChecksumWeights& weights) {
  std::vector<double> factors(values.size());
  weights.fill(0, factors);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += factors[i] * values[i];
  return sum;
}

TEST(LinalgDescriptor, EveryShapeRoundTrips) {
  for (const char* text : {"syrk:n1d1", "syrk:n262144d250", "syrk:n33554432d250"})
    EXPECT_EQ(to_descriptor(parse_linalg(text)), text);
  EXPECT_EQ(to_descriptor(parse_linalg("syrk:d250_n4")), "syrk:n4d250");
}

TEST(LinalgDescriptor, EachFaultIsNamed) {
  const std::pair<const char*, const char*> faults[] = {
      {"n4d2", "the kernel is missing"},
      {"syrc:n4d2", "Did you mean 'syrk'?"},
      {"syrk:n4", "d is missing"},
      {"syrk:n0d2", "n is 0"},
      {"syrk:n4d2k1", "'k'"},
      {"syrk:n-4d2", "n is negative"},
      {"hinge:n4d0", "d is 0"},
      {"syrk:n4611686018427387904d8", "64 bits (reached at n = 4611686018427387904)"},
      {"syrk:n1d4611686018427387904", "64 bits (reached at d = 4611686018427387904)"},
      {"eigh:d9223372036854775807", "64 bits (reached at d = 9223372036854775807)"},
      {"eigh:d2097152", "the number of operations does not fit 64 bits (reached at d + 1"},
      {"kmeans_assign:n1d1k9223372036854775807", "64 bits (reached at k = 9223372036854775807)"},
      {"kmeans_assign:n4d2k-1", "k is negative"}};
  for (const auto& [text, expected] : faults) {
    std::string found;
    try {
      parse_linalg(text);
    } catch (const InputError& error) {
      found = error.what();
    }
    EXPECT_NE(found.find(expected), std::string::npos) << text << ": " << found;
  }
}

TEST(LinalgProblem, CountsItsWork) {
  const LinalgProblem problem(parse_linalg("syrk:n262144d250"), Precision::fp64);
  EXPECT_EQ(problem.flops(), 262144.0 * 250 * 251);
  EXPECT_EQ(problem.bytes(), (262144.0 * 250 + 250 * 250) * 8);
}

/// A rate of operations that no implementation does could exceed the machine's.
TEST(LinalgProblem, CountsTheObservationsThatTheHessianSelects) {
  constexpr std::int64_t n = 100000;
  for (const Precision precision : {Precision::fp64, Precision::fp32}) {
    const LinalgProblem problem(parse_linalg("hinge_hessian:n100000d3"), precision);
    const Inputs inputs = data(problem, Values::Kind::mantissa, 0, 5);
    std::vector<double> s(n);
    inputs.find("s")->second.fill(0, s);
    const auto selected =
        std::count_if(s.begin(), s.end(), [](double value) { return value > 0 && value < 1; });
    const double each = 4 * 5;  // (d + 1)(d + 2): two for each distinct element
    EXPECT_NEAR(problem.flops() / (static_cast<double>(selected) * each), 1, 0.02);
  }
}

TEST(LinalgOracle, EqualsPlainLoopsOverRandomShapes) {
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    const std::int64_t n = i % 5 == 0 ? 4095 + i / 5 : 1 + static_cast<std::int64_t>(random() % 90),
                       d = 1 + static_cast<std::int64_t>(random() % 40);
    const Precision precision = i % 2 == 0 ? Precision::fp64 : Precision::fp32;
    const LinalgProblem problem({LinalgKernel::syrk, n, d}, precision);
    const auto oracle = make_linalg_oracle(problem);
    const int magnitude = oracle->exact_magnitude(honest(precision));
    ASSERT_GT(magnitude, 0) << problem.canonical();
    const Inputs inputs = data(problem, Values::Kind::integer, magnitude, 5);
    const std::vector<double> c =
        gram(problem, inputs, same, precision == Precision::fp32 ? to_fp32 : same);
    const TensorSpec spec = problem.tensors()[1];
    const std::vector<std::int64_t> indices = every_index(spec);
    std::vector<Expected> want(indices.size());
    oracle->expect(spec, inputs, honest(precision), true, indices, want);
    for (std::size_t e = 0; e < c.size(); ++e) {
      ASSERT_EQ(want[e].value, c[e]) << problem.canonical() << " element " << e;
      ASSERT_EQ(want[e].max_bound, 0);
    }
    const ChecksumWeights weights(spec.dims, static_cast<std::uint64_t>(i));
    ASSERT_EQ(oracle->checksum(spec, inputs, weights), sum_weighted(c, weights))
        << problem.canonical();
  }
}

TEST(LinalgOracle, AFewElementsAreReadByThemselves) {
  const LinalgProblem problem(parse_linalg("syrk:n5000d200"), Precision::fp64);
  const Inputs inputs = data(problem, Values::Kind::mantissa, 0, 9);
  const TensorSpec c = problem.tensors()[1];
  const std::vector<std::int64_t> few{7, 3 * 200 + 3}, all = every_index(c);
  std::vector<Expected> of_few(2), of_all(all.size());
  const auto oracle = make_linalg_oracle(problem);
  oracle->expect(c, inputs, honest(Precision::fp64), false, few, of_few);
  oracle->expect(c, inputs, honest(Precision::fp64), false, all, of_all);
  for (std::size_t i = 0; i < few.size(); ++i)
    EXPECT_EQ(of_few[i].value, of_all[static_cast<std::size_t>(few[i])].value);
}

TEST(LinalgOracle, BoundsPassCorrectSumsAndFindCoarserOnes) {
  // Up to the most observations that fp32 is judged with, where the bounds are the widest.
  for (const char* text : {"syrk:n3d9", "syrk:n300d24", "syrk:n20000d12", "syrk:n262144d5"}) {
    const LinalgProblem problem(parse_linalg(text), Precision::fp32);
    const Inputs inputs = data(problem, Values::Kind::mantissa, 0, 11);
    EXPECT_TRUE(passes(problem, inputs, gram(problem, inputs, same, to_fp32))) << text;
    EXPECT_FALSE(passes(problem, inputs, gram(problem, inputs, to_tf32, to_fp32))) << text;
    EXPECT_FALSE(passes(problem, inputs, gram(problem, inputs, to_bf16, to_fp32))) << text;
  }
  const LinalgProblem problem(parse_linalg("syrk:n300d24"), Precision::fp64);
  const Inputs inputs = data(problem, Values::Kind::mantissa, 0, 11);
  EXPECT_TRUE(passes(problem, inputs, gram(problem, inputs, same, same)));
  EXPECT_FALSE(passes(problem, inputs, gram(problem, inputs, same, to_fp32)));
}

TEST(LinalgOracle, Fp32OverMoreObservationsIsNotJudged) {
  const auto reason = [](const char* text, Precision precision) {
    return make_linalg_oracle(LinalgProblem(parse_linalg(text), precision))
        ->why_unjudgeable(honest(precision));
  };
  EXPECT_FALSE(reason("syrk:n262144d5", Precision::fp32));
  ASSERT_TRUE(reason("syrk:n262145d5", Precision::fp32));
  EXPECT_NE(reason("syrk:n262145d5", Precision::fp32)->find("up to 262144"), std::string::npos);
  EXPECT_FALSE(reason("syrk:n262145d5", Precision::fp64));
}

/// Threads share what was made of the same data, also of gradients that are not finite.
TEST(LinalgOracle, TheSameDataHaveEqualFingerprints) {
  const std::vector<TensorSpec> tensors{plain_tensor("g", Role::input, DataType::fp32, {3})};
  const auto of = [&](const Values& values) {
    Inputs inputs;
    inputs.emplace("g", values);
    return sums::fingerprint(tensors, inputs);
  };
  const Values one(std::vector<double>{1, NAN, 2}), other(std::vector<double>{1, NAN, 2}),
      drawn(Values::Kind::mantissa, 1, "g", DataType::fp32, 0),
      again(Values::Kind::mantissa, 2, "g", DataType::fp32, 0);
  EXPECT_EQ(of(one), of(one));
  EXPECT_NE(of(one), of(other));
  EXPECT_EQ(of(drawn), of(drawn));
  EXPECT_NE(of(drawn), of(again));
}

TEST(LinalgOracle, ChecksumFindsOneElementAndAPermutation) {
  const LinalgProblem problem(parse_linalg("syrk:n50d13"), Precision::fp64);
  const Inputs inputs = data(problem, Values::Kind::integer, 16, 7);
  const TensorSpec spec = problem.tensors()[1];
  std::vector<double> c = gram(problem, inputs, same, same);
  int found = 0, tried = 0;
  for (std::size_t i = 0; i + 1 < c.size(); ++i) {
    const ChecksumWeights weights(spec.dims, i);
    const double sum = make_linalg_oracle(problem)->checksum(spec, inputs, weights).value();
    ASSERT_EQ(sum_weighted(c, weights), sum);
    c[i] += 1;
    ASSERT_NE(sum_weighted(c, weights), sum) << "element " << i;
    c[i] -= 1;
    if (c[i] == c[i + 1]) continue;
    std::swap(c[i], c[i + 1]);
    ++tried;
    found += sum_weighted(c, weights) != sum;  // weights are equal in one of 16 draws
    std::swap(c[i], c[i + 1]);
  }
  EXPECT_GT(found, tried * 8 / 10);
}

}  // namespace test_linalg_oracle
}  // namespace assay
