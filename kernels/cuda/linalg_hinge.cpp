// hinge: one pass over the observations, then the sums of the parts.

#include "kernels/cuda/linalg.hpp"
#include "kernels/cuda/linalg_rows.hpp"

namespace assay::cuda {
namespace {

template <class Real, int width>
class Hinge final : public OwnOperation {
 public:
  Hinge(const LinalgProblem& problem, int processors)
      : OwnOperation(problem, problem.precision(), problem.tensors()),
        n_(problem.shape().n),
        d_(problem.shape().d),
        warps_(warps_at_once<Rows>(processors, count_tiles(d_), n_)) {
    add_workspace(static_cast<std::size_t>(sums_size(warps_, columns())) * sizeof(double));
  }

 private:
  using Rows = HingeRows<Real, width>;

  std::int64_t columns() const { return d_ + 1 + hinge_losses; }

  void start_all() override {
    auto* const parts = find<double>("workspace");
    start(Rows{find<const Real>("x"), find<const Real>("y"), find<const Real>("w"),
               find<const Real>("slope"), n_, d_, warps_, find<Real>("s"), parts},
          count_tiles(d_) * warps_ * warp_lanes);
    start(AddHinge{few(parts, warps_, columns()), d_, find<double>("direction"),
                   find<double>("losses")},
          columns());
  }

  std::int64_t n_, d_, warps_;
};

}  // namespace

std::unique_ptr<Operation> make_hinge(const LinalgProblem& problem, int processors) {
  return with_packs(problem.precision(), problem.shape().d,
                    [&](auto element, auto width) -> std::unique_ptr<Operation> {
                      return std::make_unique<Hinge<decltype(element), decltype(width)::value>>(
                          problem, processors);
                    });
}

}  // namespace assay::cuda
