// Pooling, channels innermost. The backward pass of a maximum works on blocks of channels. It finds
// the largest elements again, whose numbers stay in the second-level cache, and then gathers, so
// that every gradient is written once.

#include "kernels/pool/problem.hpp"

#include <omp.h>

#include <algorithm>

#include "core/api/layout.hpp"
#include "kernels/native/backend.hpp"
#include "kernels/native/parts.hpp"
#include "kernels/native/pool_simd.hpp"

namespace assay::native {
namespace {

/// The size of a block of channels: whole vectors of every instruction set, and lines of fp32.
constexpr std::ptrdiff_t channels_at_once = 64;

template <class Value>
class Pooling final : public BoundOperation {
 public:
  Pooling(const PoolProblem& problem, int threads)
      : BoundOperation(problem.tensors()),
        problem_(problem),
        s_(problem_.shape()),
        table_(pool_tables().table<Value>(storage(problem.precision()))),
        backward_(problem.direction() == PoolDirection::backward),
        max_(problem.mode() == PoolMode::max),
        threads_(threads),
        element_(static_cast<std::ptrdiff_t>(size_of(storage(problem.precision())))) {
    execution_ = make_direct_execution(problem.precision(), table_.target, "nhwc");
    lay_channels_last(arguments_);
    if (!backward_ || max_) windows_ = pixels_of_windows();
    if (backward_) pixels_ = windows_of_pixels();
    if (!backward_ || !max_) return;
    execution_.workspace_bytes = static_cast<std::size_t>(threads * of_thread()) * sizeof(Value);
    arguments_.push_back(workspace(execution_.workspace_bytes));
  }

  void bind(std::span<Tensor* const> tensors) override {
    BoundOperation::bind(tensors);
    const std::size_t to = backward_ && max_ ? 2 : 1;
    src_ = data<const std::byte>(0);
    diff_ = data<const std::byte>(to - 1);
    target_ = data<std::byte>(to);
    scratch_ = find<Value>("workspace");
  }

  void run(Stream&) override {
    const std::ptrdiff_t blocks = (s_.ic + channels_at_once - 1) / channels_at_once;
    // A part is a block of channels of an image and, forward, of one row of it.
    const std::ptrdiff_t rows = backward_ ? 1 : s_.oh, parts = s_.mb * rows * blocks;
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::ptrdiff_t part = 0; part < parts; ++part) {
      const std::ptrdiff_t channel = part % blocks * channels_at_once, row = part / blocks % rows,
                           image = part / blocks / rows;
      const Part block{(image * s_.ih * s_.iw * s_.ic + channel) * element_,
                       (image * s_.oh * s_.ow * s_.ic + channel) * element_,
                       std::min<std::ptrdiff_t>(channels_at_once, s_.ic - channel)};
      backward_ ? backward(block) : forward(block, row);
    }
  }

 private:
  /// Bytes before the first pixel of src and of dst, for a block of channels of an image.
  struct Part {
    std::ptrdiff_t in, out, channels;
  };
  /// The pixels of each window, or the windows of each pixel: element i has [begin[i], begin[i+1]).
  struct Lists {
    std::vector<std::ptrdiff_t> begin{0}, offsets;  ///< elements from the first pixel
    std::vector<std::ptrdiff_t> places;             ///< of a window's numbers in the scratch
    std::vector<Value> values;  ///< a pixel's number in a window, or its part of the mean
    PoolPixels pixels(std::ptrdiff_t i) const {
      const auto at = static_cast<std::size_t>(i);
      return {offsets.data() + begin[at], static_cast<int>(begin[at + 1] - begin[at])};
    }
  };

  PoolWindow rows(std::int64_t y) const { return pool_window(y, s_.sh, s_.ph, s_.kh, s_.ih); }
  PoolWindow columns(std::int64_t x) const { return pool_window(x, s_.sw, s_.pw, s_.kw, s_.iw); }

  Lists pixels_of_windows() const {
    Lists lists;
    for (std::ptrdiff_t oy = 0; oy < s_.oh; ++oy)
      for (std::ptrdiff_t ox = 0; ox < s_.ow; ++ox) {
        for (std::ptrdiff_t y = rows(oy).first; y < rows(oy).last; ++y)
          for (std::ptrdiff_t x = columns(ox).first; x < columns(ox).last; ++x)
            lists.offsets.push_back((y * s_.iw + x) * s_.ic);
        lists.begin.push_back(static_cast<std::ptrdiff_t>(lists.offsets.size()));
      }
    return lists;
  }

  /// The windows of one dimension that cover an element: [first, last).
  static PoolWindow covering(std::int64_t at, std::int64_t step, std::int64_t padding,
                             std::int64_t taps, std::int64_t windows) {
    const std::int64_t reach = at + padding - taps;
    return {reach < 0 ? 0 : reach / step + 1, std::min(windows, (at + padding) / step + 1)};
  }

  Lists windows_of_pixels() const {
    Lists lists;
    for (std::ptrdiff_t y = 0; y < s_.ih; ++y)
      for (std::ptrdiff_t x = 0; x < s_.iw; ++x) {
        const PoolWindow above = covering(y, s_.sh, s_.ph, s_.kh, s_.oh),
                         beside = covering(x, s_.sw, s_.pw, s_.kw, s_.ow);
        for (std::ptrdiff_t oy = above.first; oy < above.last; ++oy)
          for (std::ptrdiff_t ox = beside.first; ox < beside.last; ++ox) {
            const PoolWindow of_rows = rows(oy), of_columns = columns(ox);
            const std::ptrdiff_t width = of_columns.last - of_columns.first,
                                 number = (y - of_rows.first) * width + x - of_columns.first,
                                 size = (of_rows.last - of_rows.first) * width;
            lists.offsets.push_back((oy * s_.ow + ox) * s_.ic);
            lists.places.push_back((oy * s_.ow + ox) * channels_at_once);
            lists.values.push_back(max_ ? static_cast<Value>(number)
                                        : Value(1) / static_cast<Value>(size));
          }
        lists.begin.push_back(static_cast<std::ptrdiff_t>(lists.offsets.size()));
      }
    return lists;
  }

  /// Elements of a thread's scratch: the numbers of all windows, and a largest element that is
  /// never read.
  std::ptrdiff_t of_thread() const { return (s_.oh * s_.ow + 1) * channels_at_once; }

  void forward(const Part& part, std::ptrdiff_t y) const {
    for (std::ptrdiff_t x = 0; x < s_.ow; ++x) {
      const PoolPixels window = windows_.pixels(y * s_.ow + x);
      std::byte* const to = target_ + part.out + (y * s_.ow + x) * s_.ic * element_;
      if (max_)
        table_.largest(src_ + part.in, window, part.channels, to, nullptr);
      else
        table_.mean(src_ + part.in, window, part.channels,
                    Value(1) / static_cast<Value>(window.count), to);
    }
  }

  void backward(const Part& part) const {
    Value* const where = max_ ? scratch_ + omp_get_thread_num() * of_thread() : nullptr;
    if (max_)
      for (std::ptrdiff_t window = 0; window < s_.oh * s_.ow; ++window)
        table_.largest(src_ + part.in, windows_.pixels(window), part.channels,
                       where + s_.oh * s_.ow * channels_at_once, where + window * channels_at_once);
    for (std::ptrdiff_t pixel = 0; pixel < s_.ih * s_.iw; ++pixel) {
      const PoolPixels windows = pixels_.pixels(pixel);
      const std::ptrdiff_t first = pixels_.begin[static_cast<std::size_t>(pixel)];
      std::byte* const to = target_ + part.in + pixel * s_.ic * element_;
      const std::byte* const from = diff_ + part.out;
      if (max_)
        table_.gather(from, windows, where, pixels_.places.data() + first,
                      pixels_.values.data() + first, part.channels, to);
      else
        table_.share(from, windows, pixels_.values.data() + first, part.channels, to);
    }
  }

  PoolProblem problem_;
  const PoolShape& s_;
  const PoolTable<Value>& table_;
  bool backward_, max_;
  int threads_;
  std::ptrdiff_t element_;  ///< bytes
  const std::byte *src_ = nullptr, *diff_ = nullptr;
  std::byte* target_ = nullptr;
  Value* scratch_ = nullptr;
  Lists windows_, pixels_;
};

const Maker add_pool{
    makers(), problem_kind<PoolProblem>(), &make_direct<PoolProblem, Pooling>, {"direct"}};

}  // namespace
}  // namespace assay::native
