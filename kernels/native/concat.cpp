// Concatenation and its split: copies rows of bytes. With channels innermost a row is a pixel, else
// an image.

#include "kernels/concat/problem.hpp"

#include <algorithm>
#include <cstring>

#include "core/api/layout.hpp"
#include "kernels/native/backend.hpp"
#include "kernels/native/in_layout.hpp"

namespace assay::native {
namespace {

/// Bytes that a thread copies at once.
constexpr std::ptrdiff_t bytes_at_once = 64 << 10, line = 64;

class Concatenation final : public BoundOperation {
 public:
  Concatenation(const ConcatProblem& problem, bool channels_last, int threads)
      : BoundOperation(problem.tensors()),
        forward_(problem.direction() == ConcatDirection::forward),
        threads_(threads) {
    const ConcatShape& s = problem.shape();
    execution_ = make_direct_execution(problem.precision(), "", channels_last ? "nhwc" : "nchw");
    execution_.implementation = "memcpy";
    if (channels_last) lay_channels_last(arguments_);
    const std::int64_t plane = s.ih * s.iw;
    rows_ = s.mb * (channels_last ? plane : 1);
    const std::int64_t element = static_cast<std::int64_t>(size_of(storage(problem.precision()))) *
                                 (channels_last ? 1 : plane);
    for (const std::int64_t channels : s.channels) ends_.push_back(row() + channels * element);
  }

  void run(Stream&) override {
    auto* const whole = data<std::byte>(forward_ ? ends_.size() : 0);
    // Several rows at once, or parts of one row.
    const std::ptrdiff_t at_once = std::max<std::ptrdiff_t>(1, bytes_at_once / row()),
                         groups = (rows_ + at_once - 1) / at_once,
                         parts = std::max<std::ptrdiff_t>(1, row() / bytes_at_once);
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::ptrdiff_t i = 0; i < groups * parts; ++i) {
      const std::ptrdiff_t part = i % parts, first = i / parts * at_once, begin = edge(part, parts),
                           end = edge(part + 1, parts);
      for (std::ptrdiff_t r = first; r < std::min(rows_, first + at_once); ++r)
        copy(whole + r * row(), r, begin, end);
    }
  }

 private:
  std::ptrdiff_t row() const { return ends_.empty() ? 0 : ends_.back(); }
  /// The first element of a part of a row, at the beginning of a cache line.
  std::ptrdiff_t edge(std::ptrdiff_t part, std::ptrdiff_t parts) const {
    return part == parts ? row() : row() / parts * part / line * line;
  }

  /// Copies bytes [begin, end) of a row.
  void copy(std::byte* whole, std::ptrdiff_t r, std::ptrdiff_t begin, std::ptrdiff_t end) const {
    std::ptrdiff_t start = 0;
    for (std::size_t k = 0; k < ends_.size(); start = ends_[k++]) {
      const std::ptrdiff_t from = std::max(begin, start), to = std::min(end, ends_[k]);
      if (from >= to) continue;
      std::byte* const piece =
          data<std::byte>(forward_ ? k : k + 1) + r * (ends_[k] - start) + from - start;
      std::memcpy(forward_ ? whole + from : piece, forward_ ? piece : whole + from,
                  static_cast<std::size_t>(to - from));
    }
  }

  bool forward_;
  int threads_;
  std::ptrdiff_t rows_ = 0;
  std::vector<std::ptrdiff_t> ends_;  ///< of each tensor's bytes in a row
};

Result<std::unique_ptr<Operation>> make_concat(Device&, const Problem& problem,
                                               const Options& options, Communicator&) {
  return make_in_layout<ConcatProblem>(
      problem, options, [](const ConcatProblem& concat, bool channels_last, int threads) {
        return std::make_unique<Concatenation>(concat, channels_last, threads);
      });
}

const Maker add_concat{makers(), problem_kind<ConcatProblem>(), &make_concat, {"direct"}};

}  // namespace
}  // namespace assay::native
