// A fake cuDNN on the fake runtime: it convolves by its descriptors, naively and on the host, so
// that a test sees whether the plugin describes what it means. Not a model of cuDNN's kernels.
//
//   FAKE_CUDNN_REFUSES=NAME   workspace queries of this algorithm say NOT_SUPPORTED ("fft")
//   FAKE_CUDNN_REFUSES_LATE=NAME  …and running it says so
//   FAKE_CUDNN_FAILS=NAME     running it fails (EXECUTION_FAILED)
//   FAKE_CUDNN_IDLE=NAME      running it does nothing
//   FAKE_CUDNN_WORKSPACE=N    bytes that every algorithm asks for (default 4096)
//   FAKE_CUDNN_WRONG=NAME     the last element of this tensor of a recurrent network is wrong (y hy
//                             cy dx dhx dcx dw)
//   FAKE_CUDNN_RNN=FAULT      of recurrent networks: bf16 (what lies between two kernels is bf16,
//                             else it has the type of the tensors), gate (the first one has the
//                             weights of the next unit), step (one is left out)
//   FAKE_CUDNN_PARTS=NAME:N   the convolution NAME splits sums into N parts, which it stores and
//   adds
//                             in the type of the result
//   FAKE_PROMOTES_TF32=1      fp32 is computed where tf32 was asked for
//
// On fp32 tensors only FMA_MATH computes in fp32; every other mode multiplies in tf32.
#include "cudnn_fake.hpp"

#include <algorithm>

#include "tests/cuda/fake/submitted.hpp"

struct cudnnFilterStruct {
  cudnnDataType_t type;
  cudnnTensorFormat_t format;
  std::vector<int> dims;
};
struct cudnnConvolutionStruct {
  std::vector<int> pad, stride, dilation;
  cudnnDataType_t sums;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  int groups = 1;
  long parts = 1;
};

namespace {

using namespace fake;

/// Place of an element with these coordinates ([n, c, spatial…] or [k, c, spatial…]).
std::size_t place(cudnnTensorFormat_t format, const std::vector<int>& dims, const int* at) {
  std::size_t spatial = 0, extent = 1;
  for (std::size_t d = 2; d < dims.size(); ++d) {
    spatial = spatial * static_cast<std::size_t>(dims[d]) + static_cast<std::size_t>(at[d]);
    extent *= static_cast<std::size_t>(dims[d]);
  }
  const auto c = static_cast<std::size_t>(at[1]), channels = static_cast<std::size_t>(dims[1]),
             n = static_cast<std::size_t>(at[0]);
  if (format == CUDNN_TENSOR_NHWC) return (n * extent + spatial) * channels + c;
  if (format == CUDNN_TENSOR_NCHW_VECT_C)
    return ((n * (channels / 4) + c / 4) * extent + spatial) * 4 + c % 4;
  return (n * channels + c) * extent + spatial;
}

/// Calls body(x coordinates, w coordinates, y coordinates) for each product.
template <class Body>
void products(const cudnnTensorStruct& x, const cudnnFilterStruct& w,
              const cudnnConvolutionStruct& convolution, const cudnnTensorStruct& y, Body body) {
  const std::size_t axes = convolution.pad.size();
  std::vector<int> ax(axes + 2), aw(axes + 2), ay(axes + 2);
  long taps = 1, outputs = 1;
  for (std::size_t d = 0; d < axes; ++d) {
    taps *= w.dims[d + 2];
    outputs *= y.dims[d + 2];
  }
  const int filters = w.dims[0] / convolution.groups;
  for (ay[0] = 0; ay[0] < y.dims[0]; ++ay[0])
    for (ay[1] = 0; ay[1] < y.dims[1]; ++ay[1])
      for (long output = 0; output < outputs; ++output)
        for (aw[1] = 0; aw[1] < w.dims[1]; ++aw[1])
          for (long tap = 0; tap < taps; ++tap) {
            long o = output, t = tap;
            bool inside = true;
            for (std::size_t d = axes; d-- > 0;) {
              ay[d + 2] = static_cast<int>(o % y.dims[d + 2]);
              o /= y.dims[d + 2];
              aw[d + 2] = static_cast<int>(t % w.dims[d + 2]);
              t /= w.dims[d + 2];
              ax[d + 2] = ay[d + 2] * convolution.stride[d] + aw[d + 2] * convolution.dilation[d] -
                          convolution.pad[d];
              inside &= ax[d + 2] >= 0 && ax[d + 2] < x.dims[d + 2];
            }
            if (!inside) continue;
            ax[0] = ay[0];
            aw[0] = ay[1];
            ax[1] = ay[1] / filters * w.dims[1] + aw[1];
            body(place(x.format, x.dims, ax.data()), place(w.format, w.dims, aw.data()),
                 place(y.format, y.dims, ay.data()));
          }
}

std::size_t elements(const std::vector<int>& dims) {
  std::size_t count = 1;
  for (const int extent : dims) count *= static_cast<std::size_t>(extent);
  return count;
}

/// Sums into the third operand, in the type that the convolution asks for.
template <class Products>
void sum(const cudnnConvolutionStruct& convolution, cudnnDataType_t a_type, const void* a,
         cudnnDataType_t b_type, const void* b, cudnnDataType_t out_type, void* out,
         std::size_t count, const Products& each) {
  std::vector<double> sums(count), parts(count);
  std::vector<long> terms(count), done(count);
  if (convolution.parts > 1) each([&](std::size_t, std::size_t, std::size_t to) { ++terms[to]; });
  const bool cut =
      a_type == CUDNN_DATA_FLOAT && convolution.math != CUDNN_FMA_MATH && !promotes_tf32();
  each([&](std::size_t from_a, std::size_t from_b, std::size_t to) {
    double left = load(a_type, a, from_a), right = load(b_type, b, from_b);
    if (cut) left = tf32(left), right = tf32(right);
    sums[to] += left * right;
    if (convolution.sums == CUDNN_DATA_FLOAT) sums[to] = static_cast<float>(sums[to]);
    if (convolution.parts == 1) return;
    const long of = std::max(1L, terms[to] / convolution.parts);
    if (++done[to] % of != 0 && done[to] != terms[to]) return;
    double part = 0;
    store(out_type, &part, 0, sums[to]);
    store(out_type, &part, 0, parts[to] + load(out_type, &part, 0));
    parts[to] = load(out_type, &part, 0);
    sums[to] = 0;
  });
  if (convolution.parts > 1) sums = parts;
  for (std::size_t i = 0; i < count; ++i) store(out_type, out, i, sums[i]);
}

/// With what FAKE_CUDNN_PARTS says of the algorithm that was started.
cudnnConvolutionStruct split(cudnnConvolutionStruct convolution) {
  const char* const given = std::getenv("FAKE_CUDNN_PARTS");
  const std::string text = given == nullptr ? "" : given;
  if (const std::size_t end = text.find(':');
      end != std::string::npos && text.substr(0, end) == ran)
    convolution.parts = std::stol(text.substr(end + 1));
  return convolution;
}

const char* const forward_names[] = {
    "implicit_gemm", "implicit_precomp_gemm", "gemm", "direct", "fft", "fft_tiling",
    "winograd",      "winograd_nonfused"};
const char* const data_names[] = {"algo_0",     "algo_1",   "fft",
                                  "fft_tiling", "winograd", "winograd_nonfused"};
const char* const filter_names[] = {
    "algo_0", "algo_1", "fft", "algo_3", "winograd", "winograd_nonfused", "fft_tiling"};

cudnnStatus_t workspace_of(const std::string& name, std::size_t* bytes) {
  if (is("FAKE_CUDNN_REFUSES", name))
    return refuse("fake: no " + name + " here", CUDNN_STATUS_NOT_SUPPORTED);
  const char* const given = std::getenv("FAKE_CUDNN_WORKSPACE");
  *bytes = given == nullptr ? 4096 : std::strtoull(given, nullptr, 10);
  return CUDNN_STATUS_SUCCESS;
}

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

}  // namespace

extern "C" {

const char* fake_cudnn_ran() { return ran.c_str(); }

std::size_t cudnnGetVersion() { return CUDNN_VERSION; }
std::size_t cudnnGetCudartVersion() { return CUDART_VERSION; }
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
  const cudnnStatus_t status = starting(forward_names[algorithm]);
  if (status != CUDNN_STATUS_SUCCESS || is("FAKE_CUDNN_IDLE", forward_names[algorithm]))
    return status;
  fake::submit([how = split(*convolution), x = *x, y = *y, w = *w, at_x, at_y, at_w] {
    sum(how, x.type, at_x, w.type, at_w, y.type, at_y, elements(y.dims), [&](auto add) {
      products(x, w, how, y,
               [&](std::size_t px, std::size_t pw, std::size_t py) { add(px, pw, py); });
    });
  });
  return status;
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t, const void*, cudnnFilterDescriptor_t w,
                                           const void* at_w, cudnnTensorDescriptor_t y,
                                           const void* at_y,
                                           cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void*,
                                           std::size_t, const void*, cudnnTensorDescriptor_t x,
                                           void* at_x) {
  const cudnnStatus_t status = starting(data_names[algorithm]);
  if (status != CUDNN_STATUS_SUCCESS || is("FAKE_CUDNN_IDLE", data_names[algorithm])) return status;
  fake::submit([how = split(*convolution), x = *x, y = *y, w = *w, at_x, at_y, at_w] {
    sum(how, y.type, at_y, w.type, at_w, x.type, at_x, elements(x.dims), [&](auto add) {
      products(x, w, how, y,
               [&](std::size_t px, std::size_t pw, std::size_t py) { add(py, pw, px); });
    });
  });
  return status;
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t, const void*, cudnnTensorDescriptor_t x,
                                             const void* at_x, cudnnTensorDescriptor_t y,
                                             const void* at_y,
                                             cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void*,
                                             std::size_t, const void*, cudnnFilterDescriptor_t w,
                                             void* at_w) {
  const cudnnStatus_t status = starting(filter_names[algorithm]);
  if (status != CUDNN_STATUS_SUCCESS || is("FAKE_CUDNN_IDLE", filter_names[algorithm]))
    return status;
  fake::submit([how = split(*convolution), x = *x, y = *y, w = *w, at_x, at_y, at_w] {
    sum(how, x.type, at_x, y.type, at_y, w.type, at_w, elements(w.dims), [&](auto add) {
      products(x, w, how, y,
               [&](std::size_t px, std::size_t pw, std::size_t py) { add(px, py, pw); });
    });
  });
  return status;
}

}  // extern "C"
