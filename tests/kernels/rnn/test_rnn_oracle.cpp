// The fp64 reference against a second one and its differences, and its choice of outputs.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "kernels/oracle/sums.hpp"
#include "plain_rnn.hpp"

namespace assay {
namespace test_rnn_oracle {

using namespace rnn_test;

Arrays arrays_of(const RnnProblem& problem, const Inputs& inputs) {
  Arrays arrays;
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.role != Role::input) continue;
    arrays[spec.name].resize(static_cast<std::size_t>(spec.elements()));
    inputs.at(spec.name).fill(0, arrays[spec.name]);
  }
  return arrays;
}

std::vector<Expected> expect_all(const Oracle& oracle, const TensorSpec& output,
                                 const Inputs& inputs) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(output.elements()));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  std::vector<Expected> expected(all.size());
  oracle.expect(output, inputs, {}, false, all, expected);
  return expected;
}

std::vector<RnnProblem> problems(RnnDirection direction) {
  std::vector<RnnProblem> all;
  for (const std::string& cell : list_names<RnnCell>())
    for (const char* shape : {":3-2-4", ":3-2-4-i5", ":2-3-3-bi", ":3-2-3-l2", ":2-2-3-l2-bi"})
      for (const RnnInput input : {RnnInput::linear, RnnInput::skip}) {
        if (input == RnnInput::skip && std::string(shape).ends_with("i5")) continue;
        all.emplace_back(parse_rnn(cell + shape), input, direction, Precision::fp32);
      }
  return all;
}

/// The values that an H100 stored in the first step, with the sum over inputs in fp16
/// (persist_static), or with both sums (standard): the bound needs each rounding that there is.
TEST(RnnOracle, BoundsKnowWhichSumsOfGatesWereRounded) {
  struct Seen {
    int draw;
    std::int64_t row, unit;
    double value;
    double roundings;
  };
  for (const Seen& seen :
       {Seen{3, 29, 234, 0.0004298686981201172, 1}, Seen{1, 27, 943, 0.0033588409423828125, 2}}) {
    const RnnProblem problem(parse_rnn("lstm:1024-64-1"), RnnInput::linear,
                             RnnDirection::forward_training, Precision::fp16);
    const auto oracle = make_rnn_oracle(problem);
    Inputs inputs;
    TensorSpec output;
    for (const TensorSpec& spec : problem.tensors()) {
      if (spec.name == "dst_layer") output = spec;
      if (spec.role != Role::input) continue;
      Values values(Values::Kind::mantissa, 1, spec.name + "@" + std::to_string(seen.draw),
                    spec.type, 0);
      if (const int by = oracle->scale_exponent(spec); by != 0) values = values.scaled(by);
      inputs.emplace(spec.name, std::move(values));
    }
    const std::int64_t index = seen.row * 1024 + seen.unit;
    double before = 0;
    for (const double roundings : {0, 1, 2}) {
      Execution execution;
      execution.accumulate = sums::truncating_fp32;
      execution.numbers[rounds_gate_sums] = roundings;
      Expected expected;
      make_rnn_oracle(problem)->expect(output, inputs, execution, false, {&index, 1},
                                       {&expected, 1});
      const double error = std::abs(seen.value - expected.value);
      if (roundings == 0 || roundings == seen.roundings) {
        EXPECT_EQ(error <= expected.max_bound, roundings > 0) << seen.unit;
      }
      EXPECT_GT(expected.max_bound, before);
      before = expected.max_bound;
    }
  }
}

TEST(RnnOracle, ForwardEqualsASecondImplementation) {
  for (const RnnProblem& problem : problems(RnnDirection::forward_training)) {
    const auto oracle = make_rnn_oracle(problem);
    const Inputs inputs = make_inputs(problem, *oracle, 5);
    Arrays want = forward(problem, arrays_of(problem, inputs));
    for (const TensorSpec& output : problem.tensors()) {
      if (output.role != Role::output) continue;
      const std::vector<Expected> expected = expect_all(*oracle, output, inputs);
      ASSERT_EQ(expected.size(), want[output.name].size());
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(expected[i].value, want[output.name][i], 1e-13)
            << problem.canonical() << " " << name(problem.input()) << " " << output.name << " "
            << i;
    }
  }
}

TEST(RnnOracle, GradientsAreDifferences) {
  for (const RnnProblem& problem : problems(RnnDirection::bwd)) {
    const auto oracle = make_rnn_oracle(problem);
    const Inputs inputs = make_inputs(problem, *oracle, 9);
    const Arrays in = arrays_of(problem, inputs);
    for (const TensorSpec& output : problem.tensors()) {
      if (output.role != Role::output) continue;
      const std::vector<Expected> expected = expect_all(*oracle, output, inputs);
      const std::string of = output.name.substr(5);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        constexpr double step = 1e-5;
        Arrays more = in, less = in;
        more[of].at(i) += step;
        less[of].at(i) -= step;
        const double slope = (loss(problem, more) - loss(problem, less)) / (2 * step);
        ASSERT_NEAR(expected[i].value, slope, 1e-8)
            << problem.canonical() << " " << name(problem.input()) << " " << output.name << " "
            << i;
      }
    }
  }
}

TEST(RnnOracle, ChecksTwoWholeRowsDrawnAnew) {
  const RnnProblem problem(parse_rnn("lstm:64-32-20"), RnnInput::linear,
                           RnnDirection::forward_inference, Precision::fp32);
  const auto oracle = make_rnn_oracle(problem);
  const TensorSpec sequence = problem.tensors()[6];
  ASSERT_EQ(sequence.name, "dst_layer");
  std::set<std::int64_t> seen;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto indices = oracle->sample(sequence, 1, seed);
    EXPECT_EQ(indices.size(), 2u * 20 * 64);
    EXPECT_TRUE(std::is_sorted(indices.begin(), indices.end()));
    std::set<std::int64_t> rows;
    for (const std::int64_t index : indices) rows.insert(index / 64 % 32);
    EXPECT_EQ(rows.size(), 2u);
    seen.insert(rows.begin(), rows.end());
  }
  EXPECT_GT(seen.size(), 24u) << "rows come from the seed";
  EXPECT_EQ(oracle->sample(sequence, 1e12, 1).size(), 20u * 32 * 64) << "all rows where cheap";
}

TEST(RnnOracle, WeightsAreScaledNearTheRootOfTheirInputs) {
  const RnnProblem problem(parse_rnn("lstm:1024-2-2-i256"), RnnInput::linear,
                           RnnDirection::forward_inference, Precision::fp32);
  const auto oracle = make_rnn_oracle(problem);
  for (const TensorSpec& spec : problem.tensors()) {
    const int exponent = oracle->scale_exponent(spec);
    EXPECT_EQ(exponent, spec.name == "weights_layer"  ? -4
                        : spec.name == "weights_iter" ? -5
                                                      : 0)
        << spec.name;
  }
}

}  // namespace test_rnn_oracle
}  // namespace assay
