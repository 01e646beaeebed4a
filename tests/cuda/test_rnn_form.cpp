// The description of a recurrent network to cuDNN, by the real library, which needs no GPU for
// this.
#include <gtest/gtest.h>

#include "kernels/cuda/rnn_form.hpp"

namespace assay {
namespace test_rnn_form {

using namespace cuda;

RnnProblem problem_of(const std::string& text, RnnInput input = RnnInput::linear,
                      Precision precision = Precision::fp32) {
  return RnnProblem(parse_rnn(text), input, RnnDirection::bwd, precision);
}

RnnForm form_of(const RnnProblem& problem) {
  Result<RnnForm> made = rnn_form(problem, "auto");
  if (const auto* refusal = std::get_if<Unsupported>(&made)) {
    ADD_FAILURE() << refusal->reason;
    return {};
  }
  return std::get<RnnForm>(made);
}

std::string refusal_of(const std::string& text, const std::string& algorithm = "auto") {
  const Result<RnnForm> made = rnn_form(problem_of(text), algorithm);
  const auto* refusal = std::get_if<Unsupported>(&made);
  return refusal == nullptr ? "" : refusal->reason;
}

TEST(RnnForm, DescriptorsReadBackAsMeant) {
  for (const auto& [text, cell, bias] :
       {std::tuple{"vanilla_relu:8-3-5-l2-bi", CUDNN_RNN_RELU, CUDNN_RNN_SINGLE_INP_BIAS},
        {"vanilla_tanh:8-3-5-l2-bi", CUDNN_RNN_TANH, CUDNN_RNN_SINGLE_INP_BIAS},
        {"lstm:8-3-5-l2-bi", CUDNN_LSTM, CUDNN_RNN_SINGLE_INP_BIAS},
        {"gru_lbr:8-3-5-l2-bi", CUDNN_GRU, CUDNN_RNN_DOUBLE_BIAS}})
    for (const auto& [precision, type, math] :
         {std::tuple{Precision::fp32, CUDNN_DATA_FLOAT, CUDNN_FMA_MATH},
          {Precision::tf32, CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH},
          {Precision::fp16, CUDNN_DATA_HALF, CUDNN_TENSOR_OP_MATH},
          {Precision::bf16, CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_OP_MATH}})
      for (const RnnInput input : {RnnInput::linear, RnnInput::skip}) {
        const RnnProblem problem = problem_of(text, input, precision);
        const RnnDescriptors descriptors(problem, form_of(problem));
        cudnnRNNAlgo_t algorithm;
        cudnnRNNMode_t mode;
        cudnnRNNBiasMode_t biases;
        cudnnDirectionMode_t directions;
        cudnnRNNInputMode_t read;
        cudnnDataType_t stored, sums;
        cudnnMathType_t arithmetic;
        std::int32_t width, hidden, projected, layers;
        cudnnDropoutDescriptor_t dropout;
        std::uint32_t flags;
        ASSERT_EQ(cudnnGetRNNDescriptor_v8(descriptors.network.get(), &algorithm, &mode, &biases,
                                           &directions, &read, &stored, &sums, &arithmetic, &width,
                                           &hidden, &projected, &layers, &dropout, &flags),
                  CUDNN_STATUS_SUCCESS);
        EXPECT_EQ(algorithm, CUDNN_RNN_ALGO_STANDARD);
        EXPECT_EQ(mode, cell);
        EXPECT_EQ(biases, bias);
        EXPECT_EQ(directions, CUDNN_BIDIRECTIONAL);
        EXPECT_EQ(read, input == RnnInput::skip ? CUDNN_SKIP_INPUT : CUDNN_LINEAR_INPUT);
        EXPECT_EQ(stored, type);
        EXPECT_EQ(sums, CUDNN_DATA_FLOAT);
        EXPECT_EQ(arithmetic, math);
        EXPECT_EQ(width, input == RnnInput::skip ? 8 : 16);
        EXPECT_EQ(hidden, 8);
        EXPECT_EQ(layers, 2);
        cudnnRNNDataLayout_t layout;
        int steps, batch, vector, lengths[3];
        double padding;
        ASSERT_EQ(cudnnGetRNNDataDescriptor(descriptors.y.get(), &stored, &layout, &steps, &batch,
                                            &vector, 3, lengths, &padding),
                  CUDNN_STATUS_SUCCESS);
        EXPECT_EQ(layout, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED);
        EXPECT_EQ((std::vector<int>{steps, batch, vector}), (std::vector<int>{5, 3, 16}));
        EXPECT_EQ((std::vector<int>(lengths, lengths + 3)), (std::vector<int>{5, 5, 5}));
        int dims[8], strides[8], count;
        ASSERT_EQ(
            cudnnGetTensorNdDescriptor(descriptors.state.get(), 8, &stored, &count, dims, strides),
            CUDNN_STATUS_SUCCESS);
        EXPECT_EQ((std::vector<int>(dims, dims + count)), (std::vector<int>{4, 3, 8}));
      }
}

TEST(RnnForm, AllTensorsHaveOneType) {
  const RnnForm form = form_of(problem_of("lstm:8-3-5", RnnInput::linear, Precision::bf16));
  for (const TensorSpec& spec : form.specs) {
    EXPECT_EQ(spec.type, DataType::bf16) << spec.name;
    EXPECT_EQ(spec.bytes, static_cast<std::size_t>(spec.elements()) * 2) << spec.name;
  }
}

TEST(RnnForm, PersistentAlgorithmsHaveTwoBiases) {
  for (const char* algorithm : {"persist_static", "persist_dynamic"}) {
    const Result<RnnForm> made = rnn_form(problem_of("lstm:8-3-5"), algorithm);
    ASSERT_TRUE(std::holds_alternative<RnnForm>(made));
    EXPECT_EQ(std::get<RnnForm>(made).bias, CUDNN_RNN_DOUBLE_BIAS) << algorithm;
  }
}

TEST(RnnForm, GatesHaveCudnnsNumbers) {
  // cuDNN API Reference, cudnnGetRNNWeightParams: LSTM 0 and 4 input, 1 and 5 forget, 2 and 6 new,
  // 3 and 7 output; GRU 0 and 3 reset, 1 and 4 update, 2 and 5 new.
  const auto ids = [](RnnCell cell, std::int64_t gate) {
    const GateIds found = gate_ids(cell, gate);
    return std::pair{found.input, found.recurrent};
  };
  for (int gate = 0; gate < 4; ++gate)
    EXPECT_EQ(ids(RnnCell::lstm, gate), (std::pair{gate, gate + 4}));
  EXPECT_EQ(ids(RnnCell::gru_lbr, 0), (std::pair{1, 4}));  // ours: update, reset, new
  EXPECT_EQ(ids(RnnCell::gru_lbr, 1), (std::pair{0, 3}));
  EXPECT_EQ(ids(RnnCell::gru_lbr, 2), (std::pair{2, 5}));
  EXPECT_EQ(ids(RnnCell::vanilla_tanh, 0), (std::pair{0, 1}));
}

TEST(RnnForm, RefusalsSayWhy) {
  EXPECT_NE(refusal_of("gru:8-3-5").find("linear before reset"), std::string::npos);
  EXPECT_NE(refusal_of("lstm:8-3-5", "direct").find("cuDNN has no direct recurrent network"),
            std::string::npos);
  EXPECT_NE(refusal_of("lstm:65536-128-1024").find("2147483647 elements"), std::string::npos);
  EXPECT_EQ(refusal_of("lstm:8-3-5", "persist_static"), "");
}

}  // namespace test_rnn_form
}  // namespace assay
