#pragma once
// The convolution of the fake cuDNN, by descriptors of its older interface, which those of graphs
// are turned into.
#include <algorithm>
#include <cmath>

#include "cudnn_fake.hpp"

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
  bool narrow = false;  ///< inputs are rounded to 4 bits
};

namespace fake {

/// Place of an element with these coordinates ([n, c, spatial…] or [k, c, spatial…]).
inline std::size_t place(cudnnTensorFormat_t format, const std::vector<int>& dims, const int* at) {
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

inline std::size_t elements(const std::vector<int>& dims) {
  std::size_t count = 1;
  for (const int extent : dims) count *= static_cast<std::size_t>(extent);
  return count;
}

inline double four_bits(double value) {
  int exponent;
  const double significand = std::frexp(value, &exponent);
  return std::ldexp(std::round(16 * significand) / 16, exponent);
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
    if (convolution.narrow) left = four_bits(left), right = four_bits(right);
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
inline cudnnConvolutionStruct split(cudnnConvolutionStruct convolution) {
  const char* const given = std::getenv("FAKE_CUDNN_PARTS");
  const std::string text = given == nullptr ? "" : given;
  if (const std::size_t end = text.find(':');
      end != std::string::npos && text.substr(0, end) == ran)
    convolution.parts = std::stol(text.substr(end + 1));
  return convolution;
}

/// Computes y (0), x (1) or w (2) of the other two.
inline void convolve(int direction, const cudnnConvolutionStruct& how, const cudnnTensorStruct& x,
                     const void* at_x, const cudnnFilterStruct& w, const void* at_w,
                     const cudnnTensorStruct& y, const void* at_y) {
  const auto to = [](const void* out) { return const_cast<void*>(out); };
  const auto each = [&](const auto& body) { products(x, w, how, y, body); };
  if (direction == 0)
    sum(how, x.type, at_x, w.type, at_w, y.type, to(at_y), elements(y.dims), [&](auto add) {
      each([&](std::size_t px, std::size_t pw, std::size_t py) { add(px, pw, py); });
    });
  else if (direction == 1)
    sum(how, y.type, at_y, w.type, at_w, x.type, to(at_x), elements(x.dims), [&](auto add) {
      each([&](std::size_t px, std::size_t pw, std::size_t py) { add(py, pw, px); });
    });
  else
    sum(how, x.type, at_x, y.type, at_y, w.type, to(at_w), elements(w.dims), [&](auto add) {
      each([&](std::size_t px, std::size_t pw, std::size_t py) { add(px, py, pw); });
    });
}

inline cudnnStatus_t workspace_of(const std::string& name, std::size_t* bytes) {
  if (is("FAKE_CUDNN_REFUSES", name))
    return refuse("fake: no " + name + " here", CUDNN_STATUS_NOT_SUPPORTED);
  const char* const given = std::getenv("FAKE_CUDNN_WORKSPACE");
  *bytes = given == nullptr ? 4096 : std::strtoull(given, nullptr, 10);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace fake
