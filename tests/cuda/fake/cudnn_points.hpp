#pragma once
// The operations of the fake cuDNN's graphs behind a convolution, point by point.
#include <algorithm>

#include "cudnn_convolve.hpp"

namespace fake {

/// One change of all elements.
struct Point {
  cudnnPointwiseMode_t mode{};
  bool binary = false;
  cudnnTensorStruct with{};  ///< of each axis one element, or as many as the result has
  std::int64_t with_id = 0;
};

/// The indices of element i of a tensor.
template <class Dims>
void set_indices(std::size_t i, const Dims& dims, std::vector<int>& at) {
  for (std::size_t d = at.size(); d-- > 0; i /= static_cast<std::size_t>(dims[d]))
    at[d] = static_cast<int>(i % static_cast<std::size_t>(dims[d]));
}

/// The points of `from`, the convolution's output, into memory. `at_operands`: by point.
inline void apply(const std::vector<Point>& points, cudnnDataType_t sums,
                  const cudnnTensorStruct& y, const char* from,
                  const std::vector<const char*>& at_operands, const cudnnTensorStruct& out,
                  char* at_out) {
  const char* const left_out = std::getenv("FAKE_CUDNN_LEAVES_OUT");
  std::vector<int> at(y.dims.size());
  for (std::size_t i = 0; i < elements(y.dims); ++i) {
    set_indices(i, y.dims, at);
    const std::size_t here = place(y.format, y.dims, at.data());
    double value = load(y.type, from, here);
    for (std::size_t p = 0; p < points.size(); ++p) {
      const Point& point = points[p];
      if (left_out != nullptr && std::stoul(left_out) == p) continue;
      double with = 0;
      if (point.binary) {
        std::vector<int> there = at;
        for (std::size_t d = 0; d < there.size(); ++d)
          if (point.with.dims[d] == 1) there[d] = 0;
        with = load(point.with.type, at_operands[p],
                    place(point.with.format, point.with.dims, there.data()));
      }
      value = point.mode == CUDNN_POINTWISE_ADD   ? value + with
              : point.mode == CUDNN_POINTWISE_SUB ? value - with
              : point.mode == CUDNN_POINTWISE_MUL ? value * with
                                                  : std::max(value, 0.0);
      if (sums == CUDNN_DATA_FLOAT) value = static_cast<float>(value);
    }
    store(out.type, at_out, here, value);
  }
}

/// Rounds the convolution's output to the type of `y`, and adds what it was before, in fp32, and
/// its squares, by channel: as an engine may that still has it. FAKE_CUDNN_SUMS=pixel leaves out
/// the last pixel, =squares the squares of the first channel, =none writes no sums.
inline void sum_up(const cudnnTensorStruct& wide, const char* from, const cudnnTensorStruct& y,
                   char* at_y, char* at_sum, char* at_square_sum) {
  const auto channels = static_cast<std::size_t>(y.dims[1]);
  std::vector<float> sums(channels), square_sums(channels);
  std::vector<int> at(y.dims.size());
  for (std::size_t i = 0; i < elements(y.dims); ++i) {
    set_indices(i, y.dims, at);
    const std::size_t here = place(y.format, y.dims, at.data());
    const auto value = static_cast<float>(load(wide.type, from, here));
    store(y.type, at_y, here, static_cast<double>(value));
    bool last = true;
    for (std::size_t d = 0; d < at.size(); ++d) last &= d == 1 || at[d] + 1 == y.dims[d];
    if (last && is("FAKE_CUDNN_SUMS", "pixel")) continue;
    sums[static_cast<std::size_t>(at[1])] += value;
    if (is("FAKE_CUDNN_SUMS", "squares") && at[1] == 0) continue;
    square_sums[static_cast<std::size_t>(at[1])] += value * value;
  }
  if (is("FAKE_CUDNN_SUMS", "none")) return;
  std::memcpy(at_sum, sums.data(), channels * sizeof(float));
  std::memcpy(at_square_sum, square_sums.data(), channels * sizeof(float));
}

}  // namespace fake
