#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cuda/conv_algorithms.hpp"

namespace assay {
namespace test_conv_algorithms {

using namespace cuda;

int value_of(ConvDirection direction, const std::string& name) {
  const std::vector<std::string>& names = list_algorithm_names(direction);
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

TEST(ConvAlgorithms, NamesAreCudnnsEnumerators) {
  using enum ConvDirection;
  EXPECT_EQ(value_of(forward, "implicit_gemm"), CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM);
  EXPECT_EQ(value_of(forward, "implicit_precomp_gemm"),
            CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
  EXPECT_EQ(value_of(forward, "gemm"), CUDNN_CONVOLUTION_FWD_ALGO_GEMM);
  EXPECT_EQ(value_of(forward, "direct"), CUDNN_CONVOLUTION_FWD_ALGO_DIRECT);
  EXPECT_EQ(value_of(forward, "fft"), CUDNN_CONVOLUTION_FWD_ALGO_FFT);
  EXPECT_EQ(value_of(forward, "fft_tiling"), CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING);
  EXPECT_EQ(value_of(forward, "winograd"), CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD);
  EXPECT_EQ(value_of(forward, "winograd_nonfused"), CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED);
  EXPECT_EQ(value_of(bwd_data, "algo_0"), CUDNN_CONVOLUTION_BWD_DATA_ALGO_0);
  EXPECT_EQ(value_of(bwd_data, "algo_1"), CUDNN_CONVOLUTION_BWD_DATA_ALGO_1);
  EXPECT_EQ(value_of(bwd_data, "fft"), CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT);
  EXPECT_EQ(value_of(bwd_data, "fft_tiling"), CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING);
  EXPECT_EQ(value_of(bwd_data, "winograd"), CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD);
  EXPECT_EQ(value_of(bwd_data, "winograd_nonfused"),
            CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED);
  EXPECT_EQ(value_of(bwd_weights, "algo_0"), CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0);
  EXPECT_EQ(value_of(bwd_weights, "algo_1"), CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1);
  EXPECT_EQ(value_of(bwd_weights, "fft"), CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT);
  EXPECT_EQ(value_of(bwd_weights, "algo_3"), CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3);
  EXPECT_EQ(value_of(bwd_weights, "winograd"), CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD);
  EXPECT_EQ(value_of(bwd_weights, "winograd_nonfused"),
            CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED);
  EXPECT_EQ(value_of(bwd_weights, "fft_tiling"), CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING);
  EXPECT_EQ(list_all_conv_algorithm_names().size(), 8u + 3u);  // and algo_0, algo_1, algo_3
}

TEST(ConvAlgorithms, ThreeAddInAnyOrder) {
  using enum ConvDirection;
  std::vector<std::string> found;
  for (const ConvDirection direction : {forward, bwd_data, bwd_weights})
    for (const std::string& name : list_algorithm_names(direction))
      if (adds_in_any_order(direction, value_of(direction, name)))
        found.push_back((direction == bwd_data ? "data " : "weights ") + name);
  EXPECT_EQ(found, (std::vector<std::string>{"data algo_0", "weights algo_0", "weights algo_3"}));
}

TEST(ConvAlgorithms, OffersInAnotherArithmeticOrTooLargeAreLeftOut) {
  const std::vector<ConvChoice> offers{{7, CUDNN_TENSOR_OP_MATH, 10},
                                       {1, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION, 10},
                                       {2, CUDNN_FMA_MATH, 1000},
                                       {0, CUDNN_FMA_MATH, 10},
                                       {3, CUDNN_DEFAULT_MATH, 10}};
  const auto fit = [&](cudnnMathType_t wanted, std::size_t most) {
    std::vector<int> algorithms;
    for (const ConvChoice& conv_choice : fitting(offers, wanted, most))
      algorithms.push_back(conv_choice.algorithm);
    return algorithms;
  };
  EXPECT_EQ(fit(CUDNN_FMA_MATH, 1000), (std::vector<int>{2, 0, 3}));
  EXPECT_EQ(fit(CUDNN_FMA_MATH, 999), (std::vector<int>{0, 3}));
  EXPECT_EQ(fit(CUDNN_TENSOR_OP_MATH, 1000), (std::vector<int>{7, 1, 3}));
  EXPECT_EQ(fit(CUDNN_DEFAULT_MATH, 10), (std::vector<int>{7, 1, 0, 3}));
  EXPECT_TRUE(fit(CUDNN_FMA_MATH, 9).empty());
}

TEST(CudnnErrors, NotSupportedIsAFamily) {
  EXPECT_TRUE(not_supported(CUDNN_STATUS_NOT_SUPPORTED));
#if CUDNN_MAJOR >= 9
  EXPECT_TRUE(not_supported(CUDNN_STATUS_NOT_SUPPORTED_SHAPE));
  EXPECT_FALSE(not_supported(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH));
#endif
  EXPECT_FALSE(not_supported(CUDNN_STATUS_SUCCESS));
  EXPECT_FALSE(not_supported(CUDNN_STATUS_EXECUTION_FAILED));
}

TEST(CudnnErrors, TheLibrarysOwnWordsAreToldOnOneLine) {
  int dims[4] = {1, 1, 1, 1};
  const TensorDescriptor descriptor;
  try {
    check(cudnnSetTensorNdDescriptorEx(descriptor.get(), CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, -1,
                                       dims),
          "describing nonsense");
    FAIL() << "cuDNN took it";
  } catch (const CudnnError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("describing nonsense failed (cuDNN "), std::string::npos) << text;
    EXPECT_NE(text.find("CUDNN_STATUS_"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_NE(text.find(error.words), std::string::npos) << text;
    EXPECT_FALSE(not_supported(error.status));
  }
}

}  // namespace test_conv_algorithms
}  // namespace assay
