// A fake cuDNN on the fake runtime: it convolves by its descriptors, naively and on the host, so
// that a test sees whether the plugin describes what it means. It is no model of cuDNN's kernels.
//
//   FAKE_CUDNN_REFUSES=NAME   workspace queries of this algorithm say NOT_SUPPORTED ("fft")
//   FAKE_CUDNN_REFUSES_LATE=NAME  …and running it says so
//   FAKE_CUDNN_FAILS=NAME     running it fails (EXECUTION_FAILED)
//   FAKE_CUDNN_IDLE=NAME      running it does nothing
//   FAKE_CUDNN_WORKSPACE=N    bytes that every algorithm asks for (default 4096)
//   FAKE_CUDNN_WORKSPACE_NAME=N  the same for this one alone
//   FAKE_CUDNN_WRONG=NAME     the last element of this tensor of a recurrent network is wrong (y hy
//                             cy dx dhx dcx dw)
//   FAKE_CUDNN_RNN=FAULT      of recurrent networks: bf16 (what lies between two kernels is bf16,
//                             else it has the type of the tensors), gate (the first one has the
//                             weights of the next unit), step (one is left out), coarse (gates are
//                             multiples of 1/210000)
//   FAKE_CUDNN_RNN_PIECES=N   each run of one is N pieces of work (default 1)
//   FAKE_CUDNN_PARTS=NAME:N   the convolution NAME splits sums into N parts, which it stores and
//                             adds in the type of the result
//   FAKE_CUDNN_ENGINE=engine_N  graphs have this engine alone (cudnn_graph.cpp lists them)
//   FAKE_CUDNN_WRONG=engine_N  the last element of what this engine computes is wrong. REFUSES to
//                             IDLE are of engine_N, too; FAKE_CUDNN_REFUSES=graph: there are none,
//                             FAKE_CUDNN_REFUSES=fusion: none of more operations than one
//   FAKE_CUDNN_PLANS=FILE     a line is added for each plan that is made: engine and convolution
//   FAKE_CUDNN_UNCOMPILED=engine_N or fusion  the code of this engine, or of a plan of several
//                             operations, does not compile: the plan cannot be made
//   FAKE_CUDNN_SLOW=fusion    those of more operations than one take eight pieces of work more
//   FAKE_CUDNN_SUMS=FAULT     of the sums beside a convolution: pixel, squares, none
//                             (cudnn_points.hpp)
//   FAKE_CUDNN_LEAVES_OUT=N   fused graphs leave out the operation N behind the convolution
//   FAKE_PROMOTES_TF32=1      fp32 is computed where tf32 was asked for
//   FAKE_CUDNN_VERSION=N      it says that it is this version, as cudnnGetVersion encodes it
//   FAKE_CUDNN_CUDA=N         ...and was built for this one, as cudnnGetCudartVersion encodes it
//
// Only FMA_MATH computes in fp32 on fp32 tensors; every other mode multiplies in tf32.
#include <algorithm>

#include "cudnn_convolve.hpp"
#include "tests/cuda/fake/submitted.hpp"

namespace {

using namespace fake;

const char* const forward_names[] = {
    "implicit_gemm", "implicit_precomp_gemm", "gemm", "direct", "fft", "fft_tiling",
    "winograd",      "winograd_nonfused"};
const char* const data_names[] = {"algo_0",     "algo_1",   "fft",
                                  "fft_tiling", "winograd", "winograd_nonfused"};
const char* const filter_names[] = {
    "algo_0", "algo_1", "fft", "algo_3", "winograd", "winograd_nonfused", "fft_tiling"};

/// All algorithms, the last one first; those that are refused say so.
template <class Perf, std::size_t N>
cudnnStatus_t offers(const char* const (&names)[N], const cudnnConvolutionStruct& convolution,
                     int most, int* count, Perf* found) {
  *count = 0;
  for (std::size_t i = N; i-- > 0 && *count < most;) {
    Perf& perf = found[(*count)++];
    std::memset(&perf, 0, sizeof perf);
    perf.algo = static_cast<decltype(perf.algo)>(i);
    perf.status = workspace_of(names[i], &perf.memory);
    perf.mathType = convolution.math;
  }
  return CUDNN_STATUS_SUCCESS;
}

std::size_t claimed(const char* variable, std::size_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Runs one algorithm; all that its result depends on tells it from others.
cudnnStatus_t start(int direction, const char* name, const cudnnConvolutionStruct& convolution,
                    const cudnnTensorStruct& x, const void* at_x, const cudnnFilterStruct& w,
                    const void* at_w, const cudnnTensorStruct& y, const void* at_y) {
  const cudnnStatus_t status = starting(name);
  if (status != CUDNN_STATUS_SUCCESS || is("FAKE_CUDNN_IDLE", name)) return status;
  const cudnnConvolutionStruct how = split(convolution);
  std::vector<std::int64_t> what{direction, how.sums, how.math, how.groups, how.parts, how.narrow,
                                 x.type,    x.format, w.type,   w.format,   y.type,    y.format};
  for (const auto* const all : {&how.pad, &how.stride, &how.dilation, &x.dims, &w.dims, &y.dims})
    what.insert(what.end(), all->begin(), all->end());
  for (const void* const at : {at_x, at_w, at_y})
    what.push_back(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(at)));
  fake::submit_repeatable(what, [direction, how, x, y, w, at_x, at_y, at_w] {
    convolve(direction, how, x, at_x, w, at_w, y, at_y);
  });
  return status;
}

}  // namespace

extern "C" {

const char* fake_cudnn_ran() { return ran.c_str(); }

std::size_t cudnnGetVersion() { return claimed("FAKE_CUDNN_VERSION", CUDNN_VERSION); }
std::size_t cudnnGetCudartVersion() { return claimed("FAKE_CUDNN_CUDA", CUDART_VERSION); }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS         ? "CUDNN_STATUS_SUCCESS"
         : status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
         : status == CUDNN_STATUS_BAD_PARAM     ? "CUDNN_STATUS_BAD_PARAM"
                                                : "CUDNN_STATUS_EXECUTION_FAILED";
}
void cudnnGetLastErrorString(char* text, std::size_t size) {
  std::strncpy(text, last_error.c_str(), size);
  last_error.clear();  // as the real one does
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t stream) {
  return stream == nullptr ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* descriptor) {
  *descriptor = new cudnnTensorStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* descriptor) {
  *descriptor = new cudnnFilterStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* descriptor) {
  *descriptor = new cudnnConvolutionStruct;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t descriptor,
                                           cudnnTensorFormat_t format, cudnnDataType_t type,
                                           int count, const int* dims) {
  *descriptor = {type, format, {dims, dims + count}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type,
                                         int count, const int* dims, const int* strides) {
  for (int i = 0, stride = 1; i < count; ++i) {  // packed alone
    if (strides[count - 1 - i] != stride) return CUDNN_STATUS_NOT_SUPPORTED;
    stride *= dims[count - 1 - i];
  }
  *descriptor = {type, CUDNN_TENSOR_NCHW, {dims, dims + count}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, int most,
                                         cudnnDataType_t* type, int* count, int* dims,
                                         int* strides) {
  *type = descriptor->type;
  *count = static_cast<int>(descriptor->dims.size());
  for (int i = std::min(most, *count), stride = 1; i-- > 0;) {
    dims[i] = descriptor->dims[static_cast<std::size_t>(i)];
    strides[i] = stride;
    stride *= dims[i];
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int count, const int* dims) {
  *descriptor = {type, format, {dims, dims + count}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t descriptor, int count,
                                              const int* pad, const int* stride,
                                              const int* dilation, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t sums) {
  if (mode != CUDNN_CROSS_CORRELATION) return CUDNN_STATUS_BAD_PARAM;
  descriptor->pad.assign(pad, pad + count);
  descriptor->stride.assign(stride, stride + count);
  descriptor->dilation.assign(dilation, dilation + count);
  descriptor->sums = sums;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int groups) {
  descriptor->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor,
                                          cudnnMathType_t math) {
  descriptor->math = math;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(cudnnConvolutionDescriptor_t,
                                                    cudnnTensorDescriptor_t,
                                                    cudnnFilterDescriptor_t, int, int*) {
  return CUDNN_STATUS_NOT_SUPPORTED;  // tested against the real library
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                     cudnnFilterDescriptor_t,
                                                     cudnnConvolutionDescriptor_t convolution,
                                                     cudnnTensorDescriptor_t, int most, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* found) {
  return offers(forward_names, *convolution, most, count, found);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t,
    cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t, int most, int* count,
    cudnnConvolutionBwdDataAlgoPerf_t* found) {
  return offers(data_names, *convolution, most, count, found);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t,
    cudnnConvolutionDescriptor_t convolution, cudnnFilterDescriptor_t, int most, int* count,
    cudnnConvolutionBwdFilterAlgoPerf_t* found) {
  return offers(filter_names, *convolution, most, count, found);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t, cudnnConvolutionFwdAlgo_t algorithm, std::size_t* bytes) {
  return workspace_of(forward_names[algorithm], bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t, cudnnConvolutionBwdDataAlgo_t algorithm, std::size_t* bytes) {
  return workspace_of(data_names[algorithm], bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnFilterDescriptor_t, cudnnConvolutionBwdFilterAlgo_t algorithm, std::size_t* bytes) {
  return workspace_of(filter_names[algorithm], bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void*, cudnnTensorDescriptor_t x,
                                      const void* at_x, cudnnFilterDescriptor_t w, const void* at_w,
                                      cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void*, std::size_t,
                                      const void*, cudnnTensorDescriptor_t y, void* at_y) {
  return start(0, forward_names[algorithm], *convolution, *x, at_x, *w, at_w, *y, at_y);
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t, const void*, cudnnFilterDescriptor_t w,
                                           const void* at_w, cudnnTensorDescriptor_t y,
                                           const void* at_y,
                                           cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void*,
                                           std::size_t, const void*, cudnnTensorDescriptor_t x,
                                           void* at_x) {
  return start(1, data_names[algorithm], *convolution, *x, at_x, *w, at_w, *y, at_y);
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t, const void*, cudnnTensorDescriptor_t x,
                                             const void* at_x, cudnnTensorDescriptor_t y,
                                             const void* at_y,
                                             cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void*,
                                             std::size_t, const void*, cudnnFilterDescriptor_t w,
                                             void* at_w) {
  return start(2, filter_names[algorithm], *convolution, *x, at_x, *w, at_w, *y, at_y);
}

}  // extern "C"
