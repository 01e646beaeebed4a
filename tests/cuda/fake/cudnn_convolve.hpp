#pragma once
// The convolution of the fake cuDNN, by descriptors of its older interface, which those of graphs
// are turned into.
#include <algorithm>
#include <cmath>
#include <utility>

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

/// Places of a tensor by first coordinate, by channel and by spatial position: each format adds
/// them.
struct Places {
  std::vector<std::size_t> firsts, channels, positions;
};
inline Places places(cudnnTensorFormat_t format, const std::vector<int>& dims) {
  Places made;
  std::vector<int> at(dims.size());
  for (; at[0] < dims[0]; ++at[0]) made.firsts.push_back(place(format, dims, at.data()));
  at[0] = 0;
  for (; at[1] < dims[1]; ++at[1]) made.channels.push_back(place(format, dims, at.data()));
  at[1] = 0;
  while (true) {
    made.positions.push_back(place(format, dims, at.data()));
    std::size_t d = dims.size();
    while (--d >= 2 && ++at[d] == dims[d]) at[d] = 0;
    if (d < 2) return made;
  }
}

/// Places of x, w and y, within a channel, that are multiplied, added up, or made.
struct Tap {
  std::size_t x, w, y;
};

/// The taps of each element of w, where x is not padded.
inline std::vector<std::vector<Tap>> taps_of_weights(const cudnnTensorStruct& x,
                                                     const cudnnFilterStruct& w,
                                                     const cudnnConvolutionStruct& convolution,
                                                     const cudnnTensorStruct& y) {
  const std::vector<std::size_t> of_x = places(x.format, x.dims).positions,
                                 of_w = places(w.format, w.dims).positions,
                                 of_y = places(y.format, y.dims).positions;
  std::vector<std::vector<Tap>> all(of_w.size());
  for (std::size_t tap = 0; tap < of_w.size(); ++tap)
    for (std::size_t output = 0; output < of_y.size(); ++output) {
      std::size_t o = output, t = tap, position = 0, stride = 1;
      bool inside = true;
      for (std::size_t d = convolution.pad.size(); d-- > 0;) {
        const auto outputs = static_cast<std::size_t>(y.dims[d + 2]),
                   taps = static_cast<std::size_t>(w.dims[d + 2]);
        const int at = static_cast<int>(o % outputs) * convolution.stride[d] +
                       static_cast<int>(t % taps) * convolution.dilation[d] - convolution.pad[d];
        inside &= at >= 0 && at < x.dims[d + 2];
        position += stride * static_cast<std::size_t>(at);
        stride *= static_cast<std::size_t>(x.dims[d + 2]);
        o /= outputs;
        t /= taps;
      }
      if (inside) all[tap].push_back({of_x[position], of_w[tap], of_y[output]});
    }
  return all;
}

/// Calls body(place in x, place in w, place in y) for each product. The innermost loop is over the
/// output, or over filters where gradients of weights are made: the processor need not wait for a
/// sum to add to the next one.
template <class Body>
void products(int direction, const cudnnTensorStruct& x, const cudnnFilterStruct& w,
              const cudnnConvolutionStruct& convolution, const cudnnTensorStruct& y, Body body) {
  const Places of_x = places(x.format, x.dims), of_w = places(w.format, w.dims),
               of_y = places(y.format, y.dims);
  const std::vector<std::vector<Tap>> taps = taps_of_weights(x, w, convolution, y);
  const std::size_t channels = of_w.channels.size(),
                    groups = static_cast<std::size_t>(convolution.groups),
                    filters = of_w.firsts.size() / groups;
  for (std::size_t n = 0; n < of_y.firsts.size(); ++n)
    for (std::size_t group = 0; group < groups; ++group)
      for (std::size_t c = 0; c < channels; ++c) {
        const std::size_t in_x = of_x.firsts[n] + of_x.channels[group * channels + c];
        for (const std::vector<Tap>& of_tap : taps) {
          const auto each_filter = [&](const auto& act) {
            for (std::size_t k = group * filters; k < (group + 1) * filters; ++k)
              act(of_w.firsts[k] + of_w.channels[c], of_y.firsts[n] + of_y.channels[k]);
          };
          if (direction == 2)
            for (const Tap& tap : of_tap)
              each_filter([&](std::size_t in_w, std::size_t in_y) {
                body(in_x + tap.x, in_w + tap.w, in_y + tap.y);
              });
          else
            each_filter([&](std::size_t in_w, std::size_t in_y) {
              for (const Tap& tap : of_tap) body(in_x + tap.x, in_w + tap.w, in_y + tap.y);
            });
        }
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

/// An operand as the arithmetic of the convolution reads it.
inline std::vector<double> operand(const cudnnConvolutionStruct& convolution, bool cut,
                                   cudnnDataType_t type, const void* data, std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = load(type, data, i);
    if (cut) values[i] = tf32(values[i]);
    if (convolution.narrow) values[i] = four_bits(values[i]);
  }
  return values;
}

/// A tensor of the convolution.
struct Operand {
  cudnnDataType_t type;
  const void* data;
  std::size_t count;
};

/// Sums into the third operand, in the type that the convolution asks for.
template <class Products>
void sum(const cudnnConvolutionStruct& convolution, const Operand& a, const Operand& b,
         const Operand& out, const Products& each) {
  std::vector<double> sums(out.count), parts(out.count);
  std::vector<long> terms(out.count), done(out.count);
  if (convolution.parts > 1) each([&](std::size_t, std::size_t, std::size_t to) { ++terms[to]; });
  const bool cut =
      a.type == CUDNN_DATA_FLOAT && convolution.math != CUDNN_FMA_MATH && !promotes_tf32();
  const std::vector<double> left = operand(convolution, cut, a.type, a.data, a.count),
                            right = operand(convolution, cut, b.type, b.data, b.count);
  const bool single = convolution.sums == CUDNN_DATA_FLOAT;
  const auto add = [&](std::size_t from_a, std::size_t from_b, std::size_t to) {
    const double sum = sums[to] + left[from_a] * right[from_b];
    sums[to] = single ? static_cast<double>(static_cast<float>(sum)) : sum;
  };
  if (convolution.parts == 1) {
    each(add);
  } else {
    each([&](std::size_t from_a, std::size_t from_b, std::size_t to) {
      add(from_a, from_b, to);
      const long of = std::max(1L, terms[to] / convolution.parts);
      if (++done[to] % of != 0 && done[to] != terms[to]) return;
      double part = 0;
      store(out.type, &part, 0, sums[to]);
      store(out.type, &part, 0, parts[to] + load(out.type, &part, 0));
      parts[to] = load(out.type, &part, 0);
      sums[to] = 0;
    });
  }
  if (convolution.parts > 1) sums = parts;
  for (std::size_t i = 0; i < out.count; ++i)
    store(out.type, const_cast<void*>(out.data), i, sums[i]);
}

/// The kernel has the parts that FAKE_CUDNN_PARTS gives to the algorithm that was started.
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
  const Operand of_x{x.type, at_x, elements(x.dims)}, of_w{w.type, at_w, elements(w.dims)},
      of_y{y.type, at_y, elements(y.dims)};
  const auto each = [&](const auto& body) { products(direction, x, w, how, y, body); };
  if (direction == 0)
    sum(how, of_x, of_w, of_y, [&](auto add) {
      each([&](std::size_t px, std::size_t pw, std::size_t py) { add(px, pw, py); });
    });
  else if (direction == 1)
    sum(how, of_y, of_w, of_x, [&](auto add) {
      each([&](std::size_t px, std::size_t pw, std::size_t py) { add(py, pw, px); });
    });
  else
    sum(how, of_x, of_y, of_w, [&](auto add) {
      each([&](std::size_t px, std::size_t pw, std::size_t py) { add(px, py, pw); });
    });
}

inline cudnnStatus_t workspace_of(const std::string& name, std::size_t* bytes) {
  if (is("FAKE_CUDNN_REFUSES", name))
    return refuse("fake: no " + name + " here", CUDNN_STATUS_NOT_SUPPORTED);
  const char* given = std::getenv(("FAKE_CUDNN_WORKSPACE_" + name).c_str());
  if (given == nullptr) given = std::getenv("FAKE_CUDNN_WORKSPACE");
  *bytes = given == nullptr ? 4096 : std::strtoull(given, nullptr, 10);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace fake
