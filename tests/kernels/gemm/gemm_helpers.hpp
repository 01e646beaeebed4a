#pragma once
// The common part of the tests of matrix multiplication: random shapes, data, and the sums by plain
// loops.

#include <gtest/gtest.h>

#include <random>

#include "kernels/gemm/problem.hpp"

namespace assay::gemm_test {

inline const std::vector<Precision> all_precisions{
    Precision::fp64,     Precision::fp32,    Precision::bf16,      Precision::fp16,
    Precision::int8,     Precision::tf32,    Precision::bf16_fp32, Precision::fp16_fp32,
    Precision::fp8_e4m3, Precision::fp8_e5m2};

inline GemmShape random_shape(std::mt19937& random, bool whole_factors) {
  const auto up_to = [&](int most) { return 1 + static_cast<std::int64_t>(random() % most); };
  GemmShape s;
  s.m = up_to(40);
  s.n = up_to(40);
  s.k = up_to(70);
  s.batch = random() % 4 == 0 ? up_to(3) : 1;
  s.ta = random() % 2 == 0;
  s.tb = random() % 2 == 0;
  const auto padding = [&] { return random() % 3 == 0 ? up_to(9) : 0; };
  s.lda = s.a_rows() + padding();
  s.ldb = s.b_rows() + padding();
  s.ldc = s.m + padding();
  constexpr double factors[] = {1, 1, 2, -1, -3, 0.5, 0.1};
  s.alpha = factors[random() % (whole_factors ? 5 : 7)];
  s.beta = random() % 3 == 0 ? 0 : factors[random() % (whole_factors ? 5 : 7)];
  return s;
}

inline Inputs make_inputs(const GemmProblem& problem, Values::Kind kind, int magnitude,
                          std::uint64_t seed) {
  Inputs inputs;
  for (const TensorSpec& spec : problem.tensors())
    inputs.emplace(spec.name, Values(kind, seed, spec.name, spec.type, magnitude));
  return inputs;
}

inline std::vector<double> all_of(const Values& values, std::int64_t count) {
  std::vector<double> out(static_cast<std::size_t>(count));
  values.fill(0, out);
  return out;
}

/// One product in some arithmetic: sum over p of a * b, then alpha and beta.
struct Arithmetic {
  double (*input)(double) = [](double v) { return v; };
  double (*step)(double) = [](double v) { return v; };
};

/// All of C by the definition.
inline std::vector<double> product(const GemmProblem& problem, const Inputs& inputs,
                                   const Arithmetic& in = {}) {
  const GemmShape& s = problem.shape();
  const std::vector<TensorSpec> specs = problem.tensors();
  const auto a = all_of(inputs.find("a")->second, specs[0].elements()),
             b = all_of(inputs.find("b")->second, specs[1].elements());
  std::vector<double> c = all_of(inputs.find("c")->second, specs[2].elements());
  for (std::int64_t batch = 0; batch < s.batch; ++batch)
    for (std::int64_t j = 0; j < s.n; ++j)
      for (std::int64_t i = 0; i < s.m; ++i) {
        double sum = 0;
        for (std::int64_t p = 0; p < s.k; ++p) {
          const std::int64_t left = s.ta ? i * s.lda + p : p * s.lda + i,
                             right = s.tb ? p * s.ldb + j : j * s.ldb + p;
          sum = in.step(
              sum +
              in.input(a[static_cast<std::size_t>(batch * s.lda * s.a_columns() + left)]) *
                  in.input(b[static_cast<std::size_t>(batch * s.ldb * s.b_columns() + right)]));
        }
        double& out = c[static_cast<std::size_t>((batch * s.n + j) * s.ldc + i)];
        const double before = problem.beta() == 0 ? 0 : problem.beta() * out;
        out = in.step(in.step(problem.alpha() * sum) + in.step(before));
      }
  return c;
}

inline double sum_weighted(const std::vector<double>& values, const ChecksumWeights& weights) {
  std::vector<double> factors(values.size());
  weights.fill(0, factors);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += factors[i] * values[i];
  return sum;
}

inline Execution honest(Precision precision) {
  Execution execution;
  execution.algorithm = "direct";
  execution.accumulate = std::string(name(format(precision).accumulator));
  return execution;
}

inline std::vector<std::int64_t> every_index(const TensorSpec& spec) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(spec.elements()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  return all;
}

}  // namespace assay::gemm_test
