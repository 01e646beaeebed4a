// The oracles of kmeans_assign, hinge, moments and hinge_hessian against plain loops, and what
// their bounds find.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "core/base/place.hpp"
#include "tests/kernels/linalg/linalg_helpers.hpp"

namespace assay {
namespace test_linalg_observations {

using namespace linalg_test;

using Numbers = std::vector<double>;
using Outputs = std::map<std::string, Numbers>;
using Rounding = double (*)(double);

/// The arithmetic of an implementation: `operand` rounds what enters products, `step` each result
/// of an operation on them.
struct Arithmetic {
  Rounding operand = same, step = same;
  std::size_t block = 256;  ///< observations that are added so, before their sum is added in fp64

  double dot(const double* a, const double* b, std::size_t count) const {
    double sum = 0;
    for (std::size_t j = 0; j < count; ++j) sum = step(sum + operand(a[j]) * operand(b[j]));
    return sum;
  }
};

Numbers all_of(const LinalgProblem& problem, const Inputs& inputs, const std::string& name) {
  for (const TensorSpec& spec : problem.tensors())
    if (spec.name == name) {
      Numbers values(place(spec.elements()));
      inputs.find(name)->second.fill(0, values);
      return values;
    }
  return {};
}

Outputs kmeans(const LinalgProblem& problem, const Inputs& inputs, const Arithmetic& with) {
  const std::size_t n = place(problem.shape().n), d = place(problem.shape().d),
                    k = place(problem.shape().k);
  const Numbers x = all_of(problem, inputs, "x"), c = all_of(problem, inputs, "centroids");
  Numbers labels(n), sums(k * d), counts(k), inertia(1), starts(k);
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < d; ++j) starts[i] += c[i * d + j] * c[i * d + j] / 2;
    starts[i] = with.step(starts[i]);
  }
  for (std::size_t row = 0; row < n; ++row) {
    std::size_t best = 0;
    double least = 0;
    for (std::size_t i = 0; i < k; ++i) {
      const double score = with.step(starts[i] - with.dot(&x[row * d], &c[i * d], d));
      if (i == 0 || score < least) best = i, least = score;
    }
    labels[row] = static_cast<double>(best);
    counts[best] += 1;
    double distance = 0;
    for (std::size_t j = 0; j < d; ++j) {
      sums[best * d + j] += x[row * d + j];
      const double off = with.step(x[row * d + j] - c[best * d + j]);
      distance = with.step(distance + off * off);
    }
    inertia[0] += distance;
  }
  return {{"labels", labels}, {"sums", sums}, {"counts", counts}, {"inertia", inertia}};
}

Outputs hinge(const LinalgProblem& problem, const Inputs& inputs, const Arithmetic& with) {
  const std::size_t n = place(problem.shape().n), d = place(problem.shape().d);
  const Numbers x = all_of(problem, inputs, "x"), y = all_of(problem, inputs, "y"),
                w = all_of(problem, inputs, "w");
  const double slope = all_of(problem, inputs, "slope")[0];
  Numbers s(n), losses(4), direction(d + 1);
  for (std::size_t i = 0; i < n; ++i) {
    const double dot = with.step(with.dot(&x[i * d], w.data(), d) + w[d]),
                 z = with.step(1 - with.step(y[i] * dot));
    s[i] = std::min(std::max(with.step(slope * z), 0.0), 1.0);
    losses[0] += std::max(z, 0.0);
    losses[1] += s[i];
    losses[2] += with.step(s[i] * z);
    losses[3] += with.step(s[i] * s[i]);
    const double factor = with.step(s[i] * y[i]);
    for (std::size_t j = 0; j < d; ++j) direction[j] += factor * x[i * d + j];
    direction[d] += factor;
  }
  return {{"s", s}, {"losses", losses}, {"direction", direction}};
}

/// The outer products of (x - shift, 1), or of (x, 1) where 0 < s < 1.
Outputs outer(const LinalgProblem& problem, const Inputs& inputs, const Arithmetic& with) {
  const std::size_t n = place(problem.shape().n), d = place(problem.shape().d), e = d + 1;
  const bool selects = problem.shape().kernel == LinalgKernel::hinge_hessian;
  const Numbers x = all_of(problem, inputs, "x"),
                of = all_of(problem, inputs, selects ? "s" : "shift");
  Numbers total(e * e), part(e * e), row(e, 1);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < d; ++j)
      row[j] = with.operand(selects ? x[i * d + j] : with.step(x[i * d + j] - of[j]));
    if (!selects || (of[i] > 0 && of[i] < 1))
      for (std::size_t a = 0; a < e; ++a)
        for (std::size_t b = 0; b < e; ++b)
          part[a * e + b] = with.step(part[a * e + b] + row[a] * row[b]);
    if ((i + 1) % with.block != 0 && i + 1 < n) continue;
    for (std::size_t at = 0; at < e * e; ++at) total[at] += part[at];
    std::fill(part.begin(), part.end(), 0.0);
  }
  if (selects) return {{"h", total}};
  Numbers gram;
  for (std::size_t a = 0; a < d; ++a) gram.insert(gram.end(), &total[a * e], &total[a * e] + d);
  return {{"sums", Numbers(&total[d * e], &total[d * e] + d)}, {"gram", gram}};
}

Outputs computed(const LinalgProblem& problem, const Inputs& inputs, const Arithmetic& with = {}) {
  switch (problem.shape().kernel) {
    case LinalgKernel::kmeans_assign:
      return kmeans(problem, inputs, with);
    case LinalgKernel::hinge:
      return hinge(problem, inputs, with);
    default:
      return outer(problem, inputs, with);
  }
}

/// The output that is refused, or "". It judges as core/measure/checker.hpp, without the checksum.
std::string refused(const LinalgProblem& problem, const Inputs& inputs, const Outputs& outputs,
                    bool exact, std::size_t* widened = nullptr) {
  const auto oracle = make_linalg_oracle(problem);
  Execution execution = honest(problem.precision());
  execution.operand_roundings = 1;
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.role != Role::output) continue;
    const std::vector<std::int64_t> indices = every_index(spec);
    std::vector<Expected> want(indices.size());
    oracle->expect(spec, inputs, execution, exact, indices, want);
    const Numbers& got = outputs.at(spec.name);
    double errors = 0, bounds = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double found = round_to(spec.type, got[i]),
                   target =
                       want[i].max_bound == 0 ? round_to(spec.type, want[i].value) : want[i].value,
                   error = std::abs(found - target);
      if (!(error <= want[i].max_bound)) return fmt::format("{}[{}]", spec.name, i);
      errors += error * error;
      bounds += want[i].rms_bound * want[i].rms_bound;
      if (widened != nullptr && spec.name == "labels" && want[i].max_bound > 0) ++*widened;
    }
    if (errors > bounds && bounds > 0) return spec.name;
  }
  return "";
}

LinalgProblem problem_of(const std::string& text, Precision precision) {
  return {parse_linalg(text), precision};
}

const std::vector<std::string>& kernels() {
  static const std::vector<std::string> names{"kmeans_assign", "hinge", "moments", "hinge_hessian"};
  return names;
}

std::string shape_of(const std::string& kernel, int n, int d, int k) {
  return fmt::format("{}:n{}d{}{}", kernel, n, d,
                     kernel == "kmeans_assign" ? fmt::format("k{}", k) : "");
}

TEST(LinalgObservations, IntegersAreExactOverRandomShapes) {
  std::mt19937 random(4);
  for (int i = 0; i < 60; ++i)
    for (const std::string& kernel : kernels()) {
      const int n = 1 + static_cast<int>(random() % (i % 6 == 0 ? 5000 : 90)),
                d = 1 + static_cast<int>(random() % 20), k = 1 + static_cast<int>(random() % 9);
      const Precision precision = i % 2 == 0 ? Precision::fp64 : Precision::fp32;
      const LinalgProblem problem = problem_of(shape_of(kernel, n, d, k), precision);
      const auto oracle = make_linalg_oracle(problem);
      const int magnitude = oracle->exact_magnitude(honest(precision));
      if (kernel == "hinge_hessian") {
        EXPECT_EQ(magnitude, 0);
        continue;
      }
      ASSERT_GT(magnitude, 0) << problem.canonical();
      const Inputs inputs = data(problem, Values::Kind::integer, magnitude, place(i));
      const Arithmetic with{same, precision == Precision::fp32 ? to_fp32 : same};
      const Outputs outputs = computed(problem, inputs, with);
      EXPECT_EQ(refused(problem, inputs, outputs, true), "") << problem.canonical();
      for (const TensorSpec& spec : problem.tensors()) {
        if (spec.role != Role::output || oracle->whole(spec)) continue;
        const ChecksumWeights weights(spec.dims, place(i));
        Numbers factors(place(spec.elements()));
        weights.fill(0, factors);
        const Numbers& got = outputs.at(spec.name);
        EXPECT_EQ(oracle->checksum(spec, inputs, weights),
                  std::inner_product(got.begin(), got.end(), factors.begin(), 0.0));
      }
    }
}

TEST(LinalgObservations, BoundsPassCorrectSumsAndFindCoarserOnes) {
  for (const std::string& kernel : kernels())
    for (const int n : {3, 300, 20000}) {
      const LinalgProblem problem = problem_of(shape_of(kernel, n, 24, 5), Precision::fp32);
      const Inputs inputs = data(problem, Values::Kind::mantissa, 0, 11);
      const auto judged = [&](const Arithmetic& with) {
        return refused(problem, inputs, computed(problem, inputs, with), false);
      };
      EXPECT_EQ(judged({same, to_fp32}), "") << problem.canonical();
      EXPECT_EQ(judged({}), "") << problem.canonical();
      // The nearest centroids of 300 observations are the same in tf32.
      if (n < 20000 && kernel == "kmeans_assign") continue;
      EXPECT_NE(judged({to_tf32, to_fp32}), "") << problem.canonical();
      EXPECT_NE(judged({to_bf16, to_fp32}), "") << problem.canonical();
    }
}

TEST(LinalgObservations, SumsInFp32OverAllObservationsAreRefused) {
  for (const char* kernel : {"moments", "hinge_hessian"}) {
    const LinalgProblem problem = problem_of(shape_of(kernel, 60000, 5, 0), Precision::fp32);
    const Inputs inputs = data(problem, Values::Kind::mantissa, 0, 3);
    EXPECT_EQ(refused(problem, inputs, computed(problem, inputs, {same, to_fp32}), false), "");
    EXPECT_NE(refused(problem, inputs, computed(problem, inputs, {same, to_fp32, 60000}), false),
              "");
  }
}

TEST(LinalgObservations, Fp64IsToldFromFp32) {
  for (const std::string& kernel : kernels()) {
    const LinalgProblem problem = problem_of(shape_of(kernel, 3000, 24, 5), Precision::fp64);
    const Inputs inputs = data(problem, Values::Kind::mantissa, 0, 11);
    EXPECT_EQ(refused(problem, inputs, computed(problem, inputs), false), "") << kernel;
    EXPECT_NE(refused(problem, inputs, computed(problem, inputs, {same, to_fp32}), false), "")
        << kernel;
  }
}

TEST(LinalgObservations, UncertainLabelsMayBeEitherAndNoOther) {
  // Forty centroids on a line: some observations of fp32 are as near to two as rounding can tell.
  const LinalgProblem problem = problem_of("kmeans_assign:n60000d1k40", Precision::fp32);
  const Inputs inputs = data(problem, Values::Kind::mantissa, 0, 2);
  const Outputs fp64 = computed(problem, inputs), fp32 = computed(problem, inputs, {same, to_fp32});
  EXPECT_NE(fp64.at("labels"), fp32.at("labels"));
  std::size_t widened = 0;
  EXPECT_EQ(refused(problem, inputs, fp32, false, &widened), "");
  EXPECT_EQ(refused(problem, inputs, fp64, false), "");
  EXPECT_GT(widened, 0u);
  EXPECT_LT(widened, 1200u);
}

TEST(LinalgObservations, OfEquallyNearCentroidsTheFirstIsRight) {
  const LinalgProblem problem = problem_of("kmeans_assign:n400d3k6", Precision::fp64);
  const Inputs inputs = data(problem, Values::Kind::integer, 2, 5);
  Outputs outputs = computed(problem, inputs);
  ASSERT_EQ(refused(problem, inputs, outputs, true), "");
  // The same with ties going to the last centroid.
  const Numbers x = all_of(problem, inputs, "x"), c = all_of(problem, inputs, "centroids");
  int ties = 0;
  for (std::size_t i = 0; i < 400; ++i) {
    const auto distance = [&](std::size_t of) {
      double sum = 0;
      for (std::size_t j = 0; j < 3; ++j) sum += std::pow(x[i * 3 + j] - c[of * 3 + j], 2);
      return sum;
    };
    const auto label = static_cast<std::size_t>(outputs["labels"][i]);
    for (std::size_t other = 5; other > label; --other) {
      if (distance(other) != distance(label)) continue;
      outputs["labels"][i] = static_cast<double>(other);
      EXPECT_EQ(refused(problem, inputs, outputs, true), fmt::format("labels[{}]", i));
      outputs["labels"][i] = static_cast<double>(label);
      ++ties;
      break;
    }
  }
  EXPECT_GT(ties, 10);
}

TEST(LinalgObservations, OneObservationLessIsFound) {
  for (const std::string& kernel : kernels())
    for (const bool exact : {true, false}) {
      if (exact && kernel == "hinge_hessian") continue;
      const LinalgProblem problem = problem_of(shape_of(kernel, 500, 7, 3), Precision::fp64);
      const Inputs inputs =
          data(problem, exact ? Values::Kind::integer : Values::Kind::mantissa, exact ? 2 : 0, 6);
      const Outputs right = computed(problem, inputs);
      ASSERT_EQ(refused(problem, inputs, right, exact), "") << kernel;
      for (const auto& [name, values] : right)
        for (std::size_t i = 0; i < values.size(); ++i) {
          Outputs wrong = right;
          wrong[name][i] += 1;
          ASSERT_EQ(refused(problem, inputs, wrong, exact), fmt::format("{}[{}]", name, i));
        }
    }
}

TEST(LinalgObservations, NewInputsAreNotJudgedByTheLast) {
  for (const std::string& kernel : kernels()) {
    const LinalgProblem problem = problem_of(shape_of(kernel, 90, 3, 2), Precision::fp64);
    const auto oracle = make_linalg_oracle(problem);
    const TensorSpec output = problem.tensors().back();
    const std::vector<std::int64_t> indices = every_index(output);
    std::vector<Expected> first(indices.size()), second = first, again = first;
    const Inputs a = data(problem, Values::Kind::mantissa, 0, 1),
                 b = data(problem, Values::Kind::mantissa, 0, 2);
    const Execution execution = honest(Precision::fp64);
    oracle->expect(output, a, execution, false, indices, first);
    oracle->expect(output, b, execution, false, indices, second);
    oracle->expect(output, a, execution, false, indices, again);
    EXPECT_NE(first[0].value, second[0].value) << kernel;
    EXPECT_NEAR(first[0].value, again[0].value, 1e-12 * std::abs(first[0].value)) << kernel;
  }
}

}  // namespace test_linalg_observations
}  // namespace assay
