// The oracle of batch normalization against plain loops, right and wrong ones.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "core/base/error.hpp"
#include "kernels/norm/problem.hpp"
#include "tests/kernels/complaints.hpp"

namespace assay {
namespace test_norm_oracle {

using Tensors = std::map<std::string, std::vector<double>>;
using Rounding = std::function<double(double)>;

double to_fp32(double value) { return round_to(DataType::fp32, value); }

Inputs make_inputs(const NormProblem& problem, std::uint64_t seed) {
  const auto oracle = make_norm_oracle(problem);
  Inputs inputs;
  for (const TensorSpec& spec : problem.tensors()) {
    const Values values(Values::Kind::mantissa, seed, spec.name, spec.type, 0);
    inputs.emplace(spec.name, oracle->nonnegative(spec) ? values.magnitudes() : values);
  }
  return inputs;
}

Tensors read(const NormProblem& problem, const Inputs& inputs) {
  Tensors all;
  for (const TensorSpec& spec : problem.tensors()) {
    std::vector<double>& values = all[spec.name];
    values.resize(static_cast<std::size_t>(spec.elements()));
    if (spec.role == Role::input) inputs.find(spec.name)->second.fill(0, values);
  }
  return all;
}

/// A mistake of a wrong implementation.
struct Mistake {
  double epsilon = norm_epsilon;
  double divisor_less = 0;  ///< variance over m less this
  double gradient_by = 1;   ///< a factor of diff_src
  bool keeps_negative = false;
  Rounding of_src = [](double v) { return v; };
};

/// The definition, with every step rounded.
void compute(const NormProblem& problem, Tensors& t, const Rounding& r, const Mistake& mistake) {
  const NormShape& s = problem.shape();
  const std::int64_t plane = s.ih * s.iw;
  const double m = static_cast<double>(s.per_channel());
  const bool relu = problem.fusion() != NormFusion::none;
  for (std::int64_t c = 0; c < s.ic; ++c) {
    const auto ci = static_cast<std::size_t>(c);
    std::vector<std::size_t> at;
    for (std::int64_t n = 0; n < s.mb; ++n)
      for (std::int64_t i = 0; i < plane; ++i)
        at.push_back(static_cast<std::size_t>((n * s.ic + c) * plane + i));
    const auto x = [&](std::size_t i) { return mistake.of_src(t["src"][i]); };
    if (problem.direction() == NormDirection::forward_training) {
      double sum = 0, squares = 0;
      for (const std::size_t i : at) sum = r(sum + x(i));
      const double mean = r(sum / m);
      for (const std::size_t i : at) squares = r(squares + r(r(x(i) - mean) * r(x(i) - mean)));
      t["mean"][ci] = mean;
      t["variance"][ci] = r(squares / (m - mistake.divisor_less));
    }
    const double mean = t["mean"][ci],
                 inverse = r(1 / r(std::sqrt(r(t["variance"][ci] + mistake.epsilon)))),
                 a = r(t["scale"][ci] * inverse);
    if (problem.direction() != NormDirection::backward) {
      for (const std::size_t i : at) {
        double y = r(r(a * r(x(i) - mean)) + t["shift"][ci]);
        if (problem.fusion() == NormFusion::add_relu) y = r(y + t["addend"][i]);
        t["dst"][i] = relu && !mistake.keeps_negative ? std::max(y, 0.0) : y;
      }
      continue;
    }
    const auto g = [&](std::size_t i) {
      return relu && !mistake.keeps_negative && !(t["dst"][i] > 0) ? 0 : t["diff_dst"][i];
    };
    double of_shift = 0, of_scale = 0;
    for (const std::size_t i : at) {
      of_shift = r(of_shift + g(i));
      of_scale = r(of_scale + r(g(i) * r(x(i) - mean)));
    }
    of_scale = r(of_scale * inverse);
    t["diff_scale"][ci] = of_scale;
    t["diff_shift"][ci] = of_shift;
    for (const std::size_t i : at) {
      if (problem.fusion() == NormFusion::add_relu) t["diff_addend"][i] = g(i);
      t["diff_src"][i] =
          mistake.gradient_by *
          r(a * r(r(g(i) - r(of_shift / m)) - r(r(r(x(i) - mean) * inverse) * r(of_scale / m))));
    }
  }
}

int complaints(const NormProblem& problem, const Inputs& inputs, const Tensors& computed) {
  return kernel_test::complaints(problem, *make_norm_oracle(problem), inputs, computed);
}

std::vector<NormProblem> problems(const NormShape& shape, Precision precision) {
  std::vector<NormProblem> all;
  for (const NormDirection direction :
       {NormDirection::forward_training, NormDirection::forward_inference, NormDirection::backward})
    for (const NormFusion fusion : {NormFusion::none, NormFusion::relu, NormFusion::add_relu})
      all.emplace_back(shape, direction, fusion, precision);
  return all;
}

std::string text(const NormProblem& p) {
  return p.canonical() + " " + name(p.direction()) + " " + name(p.fusion()) + " " +
         std::string(name(p.precision()));
}

TEST(NormOracle, AcceptsPlainLoopsInTheirPrecision) {
  std::mt19937 random(5);
  const auto up_to = [&](int most) { return 1 + static_cast<std::int64_t>(random() % most); };
  for (int i = 0; i < 12; ++i) {
    const NormShape shape{up_to(4), up_to(9), up_to(20), up_to(20)};
    for (const Precision precision :
         {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16})
      for (const NormProblem& problem : problems(shape, precision)) {
        const Inputs inputs = make_inputs(problem, static_cast<std::uint64_t>(i));
        Tensors tensors = read(problem, inputs);
        compute(problem, tensors,
                precision == Precision::fp64 ? Rounding([](double v) { return v; }) : to_fp32, {});
        EXPECT_EQ(complaints(problem, inputs, tensors), 0) << text(problem);
      }
  }
}

int complaints_of(const NormProblem& problem, const Mistake& mistake) {
  const Inputs inputs = make_inputs(problem, 7);
  Tensors tensors = read(problem, inputs);
  compute(problem, tensors, to_fp32, mistake);
  return complaints(problem, inputs, tensors);
}

TEST(NormOracle, RefusesMistakes) {
  const NormShape shape{2, 5, 14, 14};
  Mistake epsilon, divisor, gradient, negative, coarse;
  epsilon.epsilon = 1e-3;
  divisor.divisor_less = 1;
  gradient.gradient_by = 0.99;
  negative.keeps_negative = true;
  coarse.of_src = [](double v) { return round_to(DataType::bf16, v); };
  for (const NormProblem& problem : problems(shape, Precision::fp32)) {
    const bool backward = problem.direction() == NormDirection::backward,
               training = problem.direction() == NormDirection::forward_training;
    EXPECT_GT(complaints_of(problem, epsilon), 0) << text(problem);
    EXPECT_GT(complaints_of(problem, coarse), 0) << text(problem);
    if (training) {
      EXPECT_GT(complaints_of(problem, divisor), 0) << text(problem);
    }
    if (backward) {
      EXPECT_GT(complaints_of(problem, gradient), 0) << text(problem);
    }
    if (problem.fusion() != NormFusion::none) {
      EXPECT_GT(complaints_of(problem, negative), 0) << text(problem);
    }
  }
}

TEST(NormOracle, OneWrongElementOfAnyOutputShows) {
  for (const NormProblem& problem : problems({2, 3, 5, 4}, Precision::fp32)) {
    const Inputs inputs = make_inputs(problem, 9);
    Tensors right = read(problem, inputs);
    compute(problem, right, to_fp32, {});
    for (const TensorSpec& spec : problem.tensors()) {
      if (spec.role != Role::output) continue;
      Tensors wrong = right;
      double& element = wrong[spec.name].back();
      element = element * 1.01 + 0.01;
      EXPECT_GT(complaints(problem, inputs, wrong), 0) << text(problem) << ' ' << spec.name;
    }
  }
}

/// Stored data that random ones never are: all positive, and sorted within a channel.
TEST(NormOracle, AcceptsPlainLoopsOnStoredData) {
  for (const NormProblem& problem : problems({4, 3, 30, 30}, Precision::fp32)) {
    Inputs inputs = make_inputs(problem, 3);
    Tensors tensors = read(problem, inputs);
    for (auto& [name, values] : tensors) {
      if (name == "src")
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = to_fp32(1 + static_cast<double>(i) / 1000);
      if (name == "diff_dst")
        for (double& value : values) value = std::abs(value);
      inputs.insert_or_assign(name, Values(values));
    }
    compute(problem, tensors, to_fp32, {});
    EXPECT_EQ(complaints(problem, inputs, tensors), 0) << text(problem);
  }
}

TEST(NormProblem, DescriptorsAreReadAndWritten) {
  EXPECT_EQ(parse_norm("mb16ic64ih56"), (NormShape{16, 64, 56, 56}));
  EXPECT_EQ(to_descriptor(parse_norm("ic3ih2mb4iw5")), "mb4ic3ih2iw5");
  EXPECT_EQ(to_descriptor(parse_norm("mb4ic3ih2iw2")), "mb4ic3ih2");
  for (const char* wrong :
       {"", "mb1ic2", "mb1ic0ih3", "mb1ic2ih3x4", "mb1mb1ic2ih3", "mb99999999999ic99999999999ih3"})
    EXPECT_THROW(parse_norm(wrong), InputError) << wrong;
}

TEST(NormProblem, CountsWhatIsMoved) {
  const NormProblem problem({2, 3, 4, 5}, NormDirection::backward, NormFusion::add_relu,
                            Precision::bf16);
  // src, dst, diff_dst, diff_src, diff_addend; scale, mean, variance, diff_scale, diff_shift
  EXPECT_EQ(problem.bytes(), 5 * 120 * 2 + 5 * 3 * 4);
}

}  // namespace test_norm_oracle
}  // namespace assay
