// Bilinear resizing. Forward and backward use the same code: each output pixel is the weighted sum
// of a rectangle of input pixels, and two lists have its rows and columns. So the backward pass
// writes each gradient once, as a sum in a fixed order.

#include "kernels/resize/problem.hpp"

#include <omp.h>

#include <algorithm>

#include "core/api/layout.hpp"
#include "kernels/native/backend.hpp"
#include "kernels/native/in_layout.hpp"
#include "kernels/native/resize_simd.hpp"

namespace assay::native {
namespace {

/// The axis of the forward pass, from `in` to `out` pixels.
template <class Value>
ResizeAxis<Value> forward_axis(std::int64_t in, std::int64_t out, bool aligned) {
  ResizeAxis<Value> axis{in, out, in > 1 ? 2 : 1};
  for (std::int64_t o = 0; o < out; ++o) {
    // The coordinate is the quotient of two integers, limited to the existing pixels.
    const std::int64_t by = aligned ? std::max<std::int64_t>(1, out - 1) : 2 * out,
                       dividend = aligned ? o * (in - 1) : (2 * o + 1) * in - out,
                       at = std::clamp<std::int64_t>(dividend, 0, (in - 1) * by),
                       left = std::min(at / by, std::max<std::int64_t>(0, in - 2)),
                       rest = at - left * by;
    axis.first.push_back(left);
    axis.count.push_back(axis.taps);
    axis.weights.push_back(static_cast<Value>(by - rest) / static_cast<Value>(by));
    if (axis.taps == 2) axis.weights.push_back(static_cast<Value>(rest) / static_cast<Value>(by));
  }
  return axis;
}

/// The axis of the backward pass: for each input of the forward axis, the outputs that read it.
/// They are adjacent, because coordinates ascend.
template <class Value>
ResizeAxis<Value> transpose(const ResizeAxis<Value>& forward) {
  ResizeAxis<Value> axis{forward.outputs, forward.inputs, 1};
  const auto inputs = static_cast<std::size_t>(forward.inputs);
  axis.first.assign(inputs, 0);
  axis.count.assign(inputs, 0);
  const auto each = [&](const auto& body) {
    for (std::ptrdiff_t o = 0; o < forward.outputs; ++o)
      for (std::ptrdiff_t k = 0; k < forward.taps; ++k)
        if (const Value weight = forward.weights[static_cast<std::size_t>(o * forward.taps + k)];
            weight != 0)
          body(o, static_cast<std::size_t>(forward.first[static_cast<std::size_t>(o)] + k), weight);
  };
  each([&](std::ptrdiff_t o, std::size_t i, Value) {
    if (axis.count[i]++ == 0) axis.first[i] = o;
    axis.taps = std::max(axis.taps, axis.count[i]);
  });
  axis.weights.assign(inputs * static_cast<std::size_t>(axis.taps), 0);
  each([&](std::ptrdiff_t o, std::size_t i, Value weight) {
    axis.weights[i * static_cast<std::size_t>(axis.taps) +
                 static_cast<std::size_t>(o - axis.first[i])] = weight;
  });
  return axis;
}

template <class Value>
class Resizing final : public BoundOperation {
 public:
  Resizing(const ResizeProblem& problem, bool channels_last, int threads)
      : BoundOperation(problem.tensors()),
        s_(problem.shape()),
        table_(resize_tables().table<Value>(storage(problem.precision()))),
        channels_last_(channels_last),
        threads_(threads),
        element_(static_cast<std::ptrdiff_t>(size_of(storage(problem.precision())))) {
    const bool aligned = problem.coordinates() == ResizeCoordinates::aligned;
    y_ = forward_axis<Value>(s_.ih, s_.oh, aligned);
    x_ = forward_axis<Value>(s_.iw, s_.ow, aligned);
    if (problem.direction() == ResizeDirection::backward) {
      y_ = transpose(y_);
      x_ = transpose(x_);
    }
    execution_ =
        make_direct_execution(problem.precision(), table_.target, channels_last ? "nhwc" : "nchw");
    if (channels_last) lay_channels_last(arguments_);
    if (!channels_last) lay_columns();
  }

  void run(Stream&) override { channels_last_ ? run_pixels() : run_planes(); }

 private:
  using Index = typename ResizeTable<Value>::Index;
  static constexpr std::ptrdiff_t channels_at_once = 256;

  /// Arranges the weights of columns for add_columns(), and the memory for sums of rows.
  void lay_columns() {
    constexpr std::ptrdiff_t line = 16;
    of_thread_ = (x_.inputs + x_.taps + line - 1) / line * line;
    sums_.assign(static_cast<std::size_t>(threads_ * of_thread_), 0);
    first_.assign(x_.first.begin(), x_.first.end());
    columns_.resize(x_.weights.size());
    for (std::ptrdiff_t i = 0; i < x_.outputs; ++i)
      for (std::ptrdiff_t k = 0; k < x_.taps; ++k)
        columns_[static_cast<std::size_t>(k * x_.outputs + i)] =
            x_.weights[static_cast<std::size_t>(i * x_.taps + k)];
  }

  /// Computes rows of pixels, in blocks of channels.
  void run_pixels() {
    const std::ptrdiff_t blocks = (s_.ic + channels_at_once - 1) / channels_at_once,
                         parts = s_.mb * y_.outputs * blocks;
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::ptrdiff_t part = 0; part < parts; ++part) {
      const std::ptrdiff_t channel = part % blocks * channels_at_once, row = part / blocks,
                           n = row / y_.outputs, y = row % y_.outputs;
      table_.add_pixels(
          data<const std::byte>(0) + (n * y_.inputs * x_.inputs * s_.ic + channel) * element_, y_,
          x_, y, s_.ic, std::min<std::ptrdiff_t>(channels_at_once, s_.ic - channel),
          data<std::byte>(1) + (row * x_.outputs * s_.ic + channel) * element_);
    }
  }

  /// Computes rows of planes: first the weighted sum of the input rows, then the weighted sums of
  /// neighbours in this sum.
  void run_planes() {
    const std::ptrdiff_t rows = s_.mb * s_.ic * y_.outputs;
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      const std::ptrdiff_t plane = row / y_.outputs, y = row % y_.outputs;
      Value* const sum = sums_.data() + omp_get_thread_num() * of_thread_;
      const auto at = static_cast<std::size_t>(y);
      table_.add_rows(
          data<const std::byte>(0) + (plane * y_.inputs + y_.first[at]) * x_.inputs * element_,
          y_.count[at], y_.weights.data() + y * y_.taps, x_.inputs, sum);
      table_.add_columns(sum, first_.data(), columns_.data(), x_.taps, x_.outputs,
                         data<std::byte>(1) + row * x_.outputs * element_);
    }
  }

  ResizeShape s_;
  const ResizeTable<Value>& table_;
  bool channels_last_;
  int threads_;
  std::ptrdiff_t element_;  ///< bytes
  ResizeAxis<Value> y_, x_;
  std::vector<Value> sums_;  ///< of each thread: the sum of rows, followed by zeros that may be
                             ///< read
  std::ptrdiff_t of_thread_ = 0;
  std::vector<Index> first_;
  std::vector<Value> columns_;
};

Result<std::unique_ptr<Operation>> make_resize(Device&, const Problem& problem,
                                               const Options& options, Communicator&) {
  using OwnedOperation = std::unique_ptr<Operation>;
  return make_in_layout<ResizeProblem>(
      problem, options,
      [](const ResizeProblem& resize, bool channels_last, int threads) -> OwnedOperation {
        if (resize.precision() == Precision::fp64)
          return std::make_unique<Resizing<double>>(resize, channels_last, threads);
        return std::make_unique<Resizing<float>>(resize, channels_last, threads);
      });
}

const Maker add_resize{makers(), problem_kind<ResizeProblem>(), &make_resize, {"direct"}};

}  // namespace
}  // namespace assay::native
