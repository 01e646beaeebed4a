#include "kernels/cuda/conv_algorithms.hpp"

#include <algorithm>

namespace assay::cuda {
namespace {

constexpr int most_offers = 32;  // more than the algorithms of a direction in all arithmetics

template <class Perf, class Ask>
std::vector<ConvChoice> list_offers(const Ask& ask) {
  Perf offers[most_offers];
  int count = 0;
  check(ask(most_offers, &count, offers), "asking cuDNN for its best algorithm");
  std::vector<ConvChoice> all;
  for (int i = 0; i < count; ++i)
    if (offers[i].status == CUDNN_STATUS_SUCCESS)
      all.push_back({static_cast<int>(offers[i].algo), offers[i].mathType, offers[i].memory});
  return all;
}

}  // namespace

const std::vector<std::string>& list_algorithm_names(ConvDirection direction) {
  static const std::vector<std::string> forward{
      "implicit_gemm", "implicit_precomp_gemm", "gemm", "direct", "fft", "fft_tiling",
      "winograd",      "winograd_nonfused"};
  static const std::vector<std::string> bwd_data{"algo_0",     "algo_1",   "fft",
                                                 "fft_tiling", "winograd", "winograd_nonfused"};
  static const std::vector<std::string> bwd_weights{
      "algo_0", "algo_1", "fft", "algo_3", "winograd", "winograd_nonfused", "fft_tiling"};
  static_assert(CUDNN_CONVOLUTION_FWD_ALGO_COUNT == 8 &&
                CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED == 7 &&
                CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT == 6 &&
                CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED == 5 &&
                CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT == 7 &&
                CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING == 6);
  switch (direction) {
    case ConvDirection::forward:
      return forward;
    case ConvDirection::bwd_data:
      return bwd_data;
    case ConvDirection::bwd_weights:
      break;
  }
  return bwd_weights;
}

std::vector<std::string> list_all_conv_algorithm_names() {
  std::vector<std::string> all;
  for (const ConvDirection direction :
       {ConvDirection::forward, ConvDirection::bwd_data, ConvDirection::bwd_weights})
    for (const std::string& name : list_algorithm_names(direction))
      if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
  return all;
}

bool adds_in_any_order(ConvDirection direction, int algorithm) {
  if (direction == ConvDirection::bwd_data) return algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_0;
  return direction == ConvDirection::bwd_weights &&
         (algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 ||
          algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3);
}

std::vector<ConvChoice> fitting(const std::vector<ConvChoice>& offers, cudnnMathType_t wanted,
                                std::size_t most_bytes) {
  std::vector<ConvChoice> all;
  for (const ConvChoice& offer : offers) {
    const bool tensor_cores =
        offer.math == CUDNN_TENSOR_OP_MATH || offer.math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
    if (offer.workspace > most_bytes || (wanted == CUDNN_FMA_MATH && tensor_cores) ||
        (wanted == CUDNN_TENSOR_OP_MATH && offer.math == CUDNN_FMA_MATH))
      continue;
    all.push_back(offer);
  }
  return all;
}

ConvCall::ConvCall(const CudnnDevice& device, const ConvProblem& problem, const ConvForm& form)
    : handle_(device.cudnn()),
      direction_(problem.direction()),
      parts_(conv_parts(problem.direction())),
      descriptors_(problem, form),
      doubles_(problem.precision() == Precision::fp64) {}

std::vector<ConvChoice> ConvCall::offers() const {
  const auto x = descriptors_.x.get(), y = descriptors_.y.get();
  const auto w = descriptors_.w.get();
  const auto convolution = descriptors_.convolution.get();
  switch (direction_) {
    case ConvDirection::forward:
      return list_offers<cudnnConvolutionFwdAlgoPerf_t>(
          [&](int most, int* count, auto* offers_of_cudnn) {
            return cudnnGetConvolutionForwardAlgorithm_v7(handle_, x, w, convolution, y, most,
                                                          count, offers_of_cudnn);
          });
    case ConvDirection::bwd_data:
      return list_offers<cudnnConvolutionBwdDataAlgoPerf_t>(
          [&](int most, int* count, auto* offers_of_cudnn) {
            return cudnnGetConvolutionBackwardDataAlgorithm_v7(handle_, w, y, convolution, x, most,
                                                               count, offers_of_cudnn);
          });
    case ConvDirection::bwd_weights:
      break;
  }
  return list_offers<cudnnConvolutionBwdFilterAlgoPerf_t>(
      [&](int most, int* count, auto* offers_of_cudnn) {
        return cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle_, x, y, convolution, w, most,
                                                             count, offers_of_cudnn);
      });
}

std::size_t ConvCall::workspace(int algorithm) const {
  const auto x = descriptors_.x.get(), y = descriptors_.y.get();
  const auto w = descriptors_.w.get();
  const auto convolution = descriptors_.convolution.get();
  std::size_t bytes = 0;
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  switch (direction_) {
    case ConvDirection::forward:
      status = cudnnGetConvolutionForwardWorkspaceSize(
          handle_, x, w, convolution, y, static_cast<cudnnConvolutionFwdAlgo_t>(algorithm), &bytes);
      break;
    case ConvDirection::bwd_data:
      status = cudnnGetConvolutionBackwardDataWorkspaceSize(
          handle_, w, y, convolution, x, static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm),
          &bytes);
      break;
    case ConvDirection::bwd_weights:
      status = cudnnGetConvolutionBackwardFilterWorkspaceSize(
          handle_, x, y, convolution, w, static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm),
          &bytes);
      break;
  }
  check(status, "asking cuDNN for the workspace");
  return bytes;
}

cudnnStatus_t ConvCall::run(int algorithm, void* const* tensors, void* workspace,
                            std::size_t bytes) const {
  const auto x = descriptors_.x.get(), y = descriptors_.y.get();
  const auto w = descriptors_.w.get();
  const auto convolution = descriptors_.convolution.get();
  static constexpr double one = 1, zero = 0;
  static constexpr float one_f = 1, zero_f = 0;
  const void* const alpha = doubles_ ? static_cast<const void*>(&one) : &one_f;
  const void* const beta = doubles_ ? static_cast<const void*>(&zero) : &zero_f;
  void *const at_x = tensors[parts_.x], *const at_w = tensors[parts_.w],
              *const at_y = tensors[parts_.y];
  switch (direction_) {
    case ConvDirection::forward:
      return cudnnConvolutionForward(handle_, alpha, x, at_x, w, at_w, convolution,
                                     static_cast<cudnnConvolutionFwdAlgo_t>(algorithm), workspace,
                                     bytes, beta, y, at_y);
    case ConvDirection::bwd_data:
      return cudnnConvolutionBackwardData(handle_, alpha, w, at_w, y, at_y, convolution,
                                          static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm),
                                          workspace, bytes, beta, x, at_x);
    case ConvDirection::bwd_weights:
      break;
  }
  return cudnnConvolutionBackwardFilter(handle_, alpha, x, at_x, y, at_y, convolution,
                                        static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm),
                                        workspace, bytes, beta, w, at_w);
}

}  // namespace assay::cuda
