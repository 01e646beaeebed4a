// The reference of weight gradients, whose batch is divided into parts where memory is short: the
// sums are those of the whole batch, and the memory of a part passes on to the next.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/rnn/weight_gradients.hpp"
#include "plain_rnn.hpp"

namespace assay {
namespace test_rnn_weight_gradients {

using namespace recurrent;

void expect_near(const std::vector<double>& found, const std::vector<double>& wanted,
                 const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], wanted[i], 1e-12 * (std::abs(wanted[i]) + 1e-3)) << what << " " << i;
}

void expect_near(const std::vector<WeightGradient>& found,
                 const std::vector<WeightGradient>& wanted, const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].rows, wanted[i].rows) << what;
    expect_near(found[i].values, wanted[i].values, what);
    ASSERT_EQ(found[i].variance.size(), wanted[i].variance.size()) << what;
    for (std::size_t j = 0; j < found[i].variance.size(); ++j)
      ASSERT_NEAR(found[i].variance[j], wanted[i].variance[j], 1e-9 * wanted[i].variance[j])
          << what << " " << j;  // 0 of a rectified unit that is never above 0
  }
}

TEST(RnnWeightGradients, OfPartsOfTheBatchAreThoseOfTheWhole) {
  for (const std::string& cell : list_names<RnnCell>())
    for (const char* shape : {":33-8-5", ":9-8-3-l2-bi"})
      for (const RnnInput input : {RnnInput::linear, RnnInput::skip}) {
        const RnnProblem problem(parse_rnn(cell + shape), input, RnnDirection::bwd_weights,
                                 Precision::fp32);
        const Inputs inputs = rnn_test::make_inputs(problem, *make_rnn_oracle(problem), 3);
        const Parameters parameters(problem, inputs);
        const WeightGradients whole = weight_gradients(problem, parameters, inputs, {}, 8);
        for (const std::int64_t rows : {1, 3, 5}) {
          const WeightGradients parts = weight_gradients(problem, parameters, inputs, {}, rows);
          const std::string what =
              problem.canonical() + " " + name(input) + " by " + std::to_string(rows) + ": ";
          expect_near(parts.layer, whole.layer, what + "layer");
          expect_near(parts.iter, whole.iter, what + "iter");
          expect_near(parts.bias, whole.bias, what + "bias");
          if (HasFatalFailure()) return;
        }
      }
}

/// If some rows alone contribute, their recurrences may be those of the states' check.
TEST(RnnWeightGradients, OfRecurrencesThatAreDoneAreTheSame) {
  for (const std::string& cell : list_names<RnnCell>()) {
    const RnnProblem problem(parse_rnn(cell + ":9-8-3-l2-bi"), RnnInput::skip, RnnDirection::bwd,
                             Precision::fp32);
    Inputs inputs = rnn_test::make_inputs(problem, *make_rnn_oracle(problem), 3);
    const std::vector<std::int64_t> some{1, 6};
    for (const TensorSpec& spec : problem.tensors())
      if (spec.name.starts_with("diff_dst"))
        inputs.find(spec.name)->second =
            inputs.find(spec.name)->second.in_rows(spec.dims.back(), 8, some);
    const Parameters parameters(problem, inputs);
    const WeightGradients alone = weight_gradients(problem, parameters, inputs, {}, 8);
    for (const std::vector<std::int64_t>& rows : {some, {0, 6}}) {
      Recurrence done(problem, parameters, inputs, {}, rows);
      done.forward(false);
      done.backward(true);
      const WeightGradients all = weight_gradients(problem, parameters, inputs, {}, 8, &done);
      expect_near(all.layer, alone.layer, cell + " layer");
      expect_near(all.iter, alone.iter, cell + " iter");
      expect_near(all.bias, alone.bias, cell + " bias");
    }
  }
}

}  // namespace test_rnn_weight_gradients
}  // namespace assay
