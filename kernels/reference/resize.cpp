// Bilinear resizing by plain loops in fp64, on row-major tensors.

#include "kernels/resize/problem.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {
namespace {

/// The two neighbours of a coordinate, and the second one's weight.
struct Neighbours {
  std::int64_t left, right;
  double weight;
};

Neighbours neighbours(std::int64_t at, std::int64_t in, std::int64_t out, bool aligned) {
  const auto o = static_cast<double>(at), from = static_cast<double>(in),
             to = static_cast<double>(out);
  const double s = !aligned   ? std::max(0.0, ((2 * o + 1) * from / to - 1) / 2)
                   : out == 1 ? 0
                              : o * (from - 1) / (to - 1);
  const auto left = std::min(static_cast<std::int64_t>(std::floor(s)), in - 1);
  const std::int64_t right = std::min(left + 1, in - 1);
  return {left, right, right == left ? 0 : s - static_cast<double>(left)};
}

/// Planes are independent of each other: each thread takes whole ones.
class PlainResize final : public PlainOperation {
 public:
  PlainResize(const ResizeProblem& problem, int threads)
      : PlainOperation(problem, threads, "nchw"), problem_(problem) {
    execution_.numbers[coordinate_roundings] = 3;  // the quotient, its distance from 1/2, and 1 - w
  }

  void run(Stream&) override {
    const ResizeShape& s = problem_.shape();
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t plane = 0; plane < s.mb * s.ic; ++plane) resize(plane);
  }

 private:
  void resize(std::int64_t plane) const {
    const ResizeShape& s = problem_.shape();
    const bool forward = problem_.direction() == ResizeDirection::forward,
               aligned = problem_.coordinates() == ResizeCoordinates::aligned;
    const std::int64_t of_src = s.ih * s.iw, of_dst = s.oh * s.ow;
    const std::vector<double> from =
        forward ? read(0, plane * of_src, of_src) : read(0, plane * of_dst, of_dst);
    std::vector<double> to(place(forward ? of_dst : of_src));
    for (std::int64_t oy = 0; oy < s.oh; ++oy)
      for (std::int64_t ox = 0; ox < s.ow; ++ox) {
        const Neighbours y = neighbours(oy, s.ih, s.oh, aligned),
                         x = neighbours(ox, s.iw, s.ow, aligned);
        const auto add = [&](std::int64_t row, std::int64_t column, double weight) {
          const std::size_t src = place(row * s.iw + column), dst = place(oy * s.ow + ox);
          (forward ? to[dst] : to[src]) += weight * (forward ? from[src] : from[dst]);
        };
        add(y.left, x.left, (1 - y.weight) * (1 - x.weight));
        add(y.left, x.right, (1 - y.weight) * x.weight);
        add(y.right, x.left, y.weight * (1 - x.weight));
        add(y.right, x.right, y.weight * x.weight);
      }
    write(1, plane * (forward ? of_dst : of_src), to);
  }

  ResizeProblem problem_;
};

const Maker add_resize{makers(),
                       problem_kind<ResizeProblem>(),
                       &make_plain<ResizeProblem, PlainResize, why_not_nchw>,
                       {"direct"}};

}  // namespace
}  // namespace assay::reference
