// Pooling by plain loops in fp64, on row-major tensors.

#include "kernels/pool/problem.hpp"

#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {
namespace {

/// Planes are independent of each other: each thread takes whole ones.
class PlainPool final : public PlainOperation {
 public:
  PlainPool(const PoolProblem& problem, int threads)
      : PlainOperation(problem, threads, "nchw"),
        problem_(problem),
        backward_(problem.direction() == PoolDirection::backward),
        max_(problem.mode() == PoolMode::max) {}

  void run(Stream&) override {
    const PoolShape& s = problem_.shape();
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t plane = 0; plane < s.mb * s.ic; ++plane) pool(plane);
  }

 private:
  std::int64_t count_plane(std::size_t argument) const {
    return arguments_[argument].dims[2] * arguments_[argument].dims[3];
  }
  std::vector<double> read_plane(std::size_t argument, std::int64_t plane) const {
    return read(argument, plane * count_plane(argument), count_plane(argument));
  }

  void pool(std::int64_t plane) const {
    const PoolShape& s = problem_.shape();
    const std::size_t last = arguments_.size() - 1;
    // A maximum reads src in both directions, a mean only forward. The gradient is the argument
    // before the last.
    const std::vector<double> src =
        max_ || !backward_ ? read_plane(0, plane) : std::vector<double>();
    const std::vector<double> diff =
        backward_ ? read_plane(last - 1, plane) : std::vector<double>();
    std::vector<double> result(place(count_plane(last)));
    for (std::int64_t oy = 0; oy < s.oh; ++oy)
      for (std::int64_t ox = 0; ox < s.ow; ++ox) {
        const PoolWindow rows = pool_window(oy, s.sh, s.ph, s.kh, s.ih),
                         columns = pool_window(ox, s.sw, s.pw, s.kw, s.iw);
        const std::size_t out = place(oy * s.ow + ox);
        const double part =
            1 / static_cast<double>((rows.last - rows.first) * (columns.last - columns.first));
        std::size_t largest = place(rows.first * s.iw + columns.first);
        for (std::int64_t y = rows.first; y < rows.last; ++y)
          for (std::int64_t x = columns.first; x < columns.last; ++x) {
            const std::size_t in = place(y * s.iw + x);
            if (max_)
              largest = src[in] > src[largest] ? in : largest;
            else
              result[backward_ ? in : out] += part * (backward_ ? diff[out] : src[in]);
          }
        if (max_) result[backward_ ? largest : out] += backward_ ? diff[out] : src[largest];
      }
    write(last, plane * count_plane(last), result);
  }

  PoolProblem problem_;
  bool backward_, max_;
};

const Maker add_pool{makers(),
                     problem_kind<PoolProblem>(),
                     &make_plain<PoolProblem, PlainPool, why_not_nchw>,
                     {"direct"}};

}  // namespace
}  // namespace assay::reference
