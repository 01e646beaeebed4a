// Descriptors of recurrent networks, and what a problem makes of them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "kernels/rnn/benchmark.hpp"
#include "kernels/rnn/problem.hpp"

namespace assay {
namespace test_rnn_descriptor {

RnnProblem problem(const std::string& text, RnnInput input = RnnInput::linear,
                   RnnDirection direction = RnnDirection::forward_inference,
                   Precision precision = Precision::fp32) {
  return RnnProblem(parse_rnn(text), input, direction, precision);
}

TEST(RnnDescriptor, BothFormsGiveOneShape) {
  const RnnShape shape = parse_rnn("lstm:1024-64-25");
  EXPECT_EQ(shape.cell, RnnCell::lstm);
  EXPECT_EQ(shape.hidden, 1024);
  EXPECT_EQ(shape.batch, 64);
  EXPECT_EQ(shape.steps, 25);
  EXPECT_EQ(shape.input, 1024);
  EXPECT_EQ(shape, parse_rnn("lstm:l1t25mb64sic1024slc1024dhc1024dic1024"));
  EXPECT_EQ(parse_rnn("gru:8-2-3-i5"), parse_rnn("gru:t3mb2dhc8slc5"));
}

TEST(RnnDescriptor, NormalisesItself) {
  for (const char* text :
       {"lstm:1024-64-25", "gru:1024-64-1500", "gru_lbr:8-2-3-l2", "vanilla_relu:8-2-3-bi",
        "vanilla_tanh:8-2-3-l2-bi", "lstm:8-2-3-i5", "lstm:8-2-3-bi-i5"})
    EXPECT_EQ(to_descriptor(parse_rnn(text)), text);
  EXPECT_EQ(to_descriptor(parse_rnn("lstm:8-2-3-i8-bi-l1")), "lstm:8-2-3-bi");
  EXPECT_EQ(to_descriptor(parse_rnn("lstm:8-2-3-l2-bi-i16")), "lstm:8-2-3-l2-bi");
}

TEST(RnnDescriptor, ErrorsNameTheField) {
  const std::pair<const char*, const char*> wrong[] = {
      {"1024-64-25", "cell is missing"},
      {"lstmm:8-2-3", "lstm"},
      {"lstm:0-2-3", "hidden is 0"},
      {"lstm:8-0-3", "batch is 0"},
      {"lstm:8-2-0", "steps is 0"},
      {"lstm:8-2", "2 of 3"},
      {"lstm:-8-2-3", "hidden has no number"},
      {"lstm:8--3-2", "batch has no number"},
      {"lstm:1e3-2-3", "hidden is '1e3'"},
      {"lstm:t3mb2dhc-8", "dhc is -8"},
      {"lstm:8-2-3-x4", "'x4' is not a field"},
      {"lstm:8-2-3-l0", "layers is 0"},
      {"lstm:8-2-3-l2-l3", "layers is given twice"},
      {"lstm:8-2-3-i0", "input is 0"},
      {"lstm:99999999999-2-3", "hidden is 99999999999"},
      {"lstm:16777216-16777216-16777216", "64 bits (reached at hidden = 16777216)"},
      {"lstm:2-16777216-16777216-i16777216", "64 bits (reached at input = 16777216)"},
      {"lstm:t3mb2", "dhc is missing"},
      {"lstm:t3mb2dhc8t4", "t is given twice"},
      {"lstm:t3mb2dhc8q4", "field"},
      {"lstm:t3mb2dhc8sic9", "sic is 9"},
      {"lstm:t3mb2dhc0", "dhc is 0"},
      {"lstm:", "0 of 3"},
      {"lstm", "the extents are missing"},
      {"", "cell is missing"}};
  for (const auto& [text, expected] : wrong) {
    try {
      parse_rnn(text);
      ADD_FAILURE() << text << " was accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos)
          << text << ": " << error.what();
    }
  }
  EXPECT_THROW(problem("lstm:8-2-3-i5", RnnInput::skip), InputError);
  EXPECT_THROW(problem("lstm:8-2-3-l2-i5"), InputError);
  EXPECT_THROW(problem("lstm:8-2-3-l2-bi-i5", RnnInput::skip), InputError);
  EXPECT_THROW(parse_name<RnnDirection>("forward"), InputError);
}

TEST(RnnProblem, CountsAsDeepBenchDoes) {
  const double n = 1024.0 * 1024 * 64 * 25;
  EXPECT_EQ(problem("vanilla_relu:1024-64-25", RnnInput::skip).flops(), 2 * n);
  EXPECT_EQ(problem("gru:1024-64-25", RnnInput::skip).flops(), 6 * n);
  EXPECT_EQ(problem("lstm:1024-64-25", RnnInput::skip).flops(), 8 * n);
  EXPECT_EQ(problem("lstm:1024-64-25").flops(), 16 * n);
  EXPECT_EQ(problem("lstm:1024-64-25", RnnInput::linear, RnnDirection::bwd).flops(), 32 * n);
  EXPECT_EQ(problem("lstm:1024-64-25-i512").flops(), 12 * n);
  EXPECT_EQ(problem("lstm:1024-64-25-l2").flops(), 32 * n);
  EXPECT_EQ(problem("lstm:1024-64-25-l2-bi").flops(), 2 * 2 * 24 * n);
  EXPECT_EQ(problem("lstm:4-2-3").bytes(),
            4.0 * (3 * 2 * 4 + 2 * 2 * 4 + 2 * 4 * 4 * 4 + 16 + 3 * 2 * 4 + 2 * 2 * 4));
}

TEST(RnnProblem, TellsTheSizeOfTheInputThatItReads) {
  EXPECT_EQ(problem("lstm:8-2-3-i5").json()["input"], 5);
  EXPECT_EQ(problem("lstm:8-2-3-l2-bi").json()["input"], 16);
  // A skipped input is added to the hidden values of each direction.
  EXPECT_EQ(problem("lstm:8-2-3-l2-bi", RnnInput::skip).json()["input"], 8);
  EXPECT_EQ(problem("lstm:8-2-3-bi", RnnInput::skip).json()["input"], 8);
}

/// bwd_weights multiplies saved states with saved gradients of gates: it reads no weights.
TEST(RnnProblem, BytesAreThoseOfTheOperandsOfADirection) {
  constexpr double H = 8, N = 3, T = 5, I = 6, G = 4;
  constexpr double src = T * N * I, dst = T * N * H, states = 2 * N * H, gates = T * N * G * H,
                   weights_layer = I * G * H, weights_iter = H * G * H, bias = G * H;
  const auto bytes = [](RnnDirection direction, Precision precision = Precision::fp32) {
    return problem("lstm:8-3-5-i6", RnnInput::linear, direction, precision).bytes();
  };
  EXPECT_EQ(bytes(RnnDirection::forward_training),
            4 * (src + states + weights_layer + weights_iter + bias + dst + states));
  EXPECT_EQ(bytes(RnnDirection::bwd_data),
            4 * (gates + weights_layer + weights_iter + dst + states + src + states));
  EXPECT_EQ(bytes(RnnDirection::bwd_weights),
            4 * (gates + dst + src + weights_layer + weights_iter + bias));
  EXPECT_EQ(bytes(RnnDirection::bwd),
            4 * (gates + dst + src + weights_layer + weights_iter + dst + states +  // read
                 src + states + weights_layer + weights_iter + bias));
  // Gradients are fp32.
  EXPECT_EQ(bytes(RnnDirection::bwd_weights, Precision::bf16),
            2 * (gates + dst + src) + 4 * (weights_layer + weights_iter + bias));
  // A skipped input multiplies nothing.
  EXPECT_EQ(problem("gru_lbr:8-3-5-l2-bi", RnnInput::skip, RnnDirection::bwd_weights).bytes(),
            4.0 * (2 * 2 * T * N * (3 + 1) * H +  // gradients of gates, states
                   1 * 2 * 16 * 3 * H + 2 * 2 * (H * 3 * H + 4 * H)));  // gradients of weights
}

TEST(RnnProblem, TensorsHaveTheDocumentedShapes) {
  std::map<std::string, TensorSpec> by_name;
  for (const TensorSpec& spec :
       problem("gru_lbr:4-2-3-l2-bi", RnnInput::linear, RnnDirection::bwd, Precision::bf16)
           .tensors())
    by_name[spec.name] = spec;
  using Dims = std::vector<std::int64_t>;
  EXPECT_EQ(by_name["src_layer"].dims, (Dims{3, 2, 8}));
  EXPECT_EQ(by_name["src_layer"].type, DataType::bf16);
  EXPECT_EQ(by_name["weights_layer"].dims, (Dims{2, 2, 8, 3, 4}));
  EXPECT_EQ(by_name["weights_iter"].dims, (Dims{2, 2, 4, 3, 4}));
  EXPECT_EQ(by_name["bias"].dims, (Dims{2, 2, 4, 4}));
  EXPECT_EQ(by_name["bias"].type, DataType::fp32);
  EXPECT_EQ(by_name["diff_dst_layer"].dims, (Dims{3, 2, 8}));
  EXPECT_EQ(by_name["diff_weights_iter"].role, Role::output);
  EXPECT_EQ(by_name["diff_weights_iter"].type, DataType::fp32);
  EXPECT_FALSE(by_name.contains("src_iter_c"));
  // A skipped input has no weights in the first layer.
  for (const TensorSpec& spec : problem("lstm:4-2-3", RnnInput::skip).tensors())
    EXPECT_NE(spec.name, "weights_layer");
}

TEST(RnnBenchmark, HasTwoCasesForTwoInputs) {
  const OperationBenchmark& benchmark = rnn_benchmark();
  EXPECT_EQ(benchmark.canonical("lstm:t25mb64dhc1024"), "lstm:1024-64-25");
  bool found = false;
  for (const Dimension& dimension : benchmark.dimensions()) found |= dimension.name == "input";
  EXPECT_TRUE(found);
}

}  // namespace test_rnn_descriptor
}  // namespace assay
