// kmeans_assign. If there are at most four centroids, and the features fit one tile, one pass over
// the observations finds each label and adds the sums at once. Otherwise one pass finds the labels,
// and another one reads each observation for its centroid.

#include "kernels/cuda/linalg.hpp"
#include "kernels/cuda/linalg_rows.hpp"

namespace assay::cuda {
namespace {

template <class Real, int width>
class KmeansAssign final : public OwnOperation {
 public:
  KmeansAssign(const LinalgProblem& problem, int processors)
      : OwnOperation(problem, problem.precision(), problem.tensors()),
        shape_(problem.shape()),
        pieces_(count_tiles(shape_.d) * ((shape_.k + centroids_at_once - 1) / centroids_at_once)),
        finders_(warps_at_once<Sums>(processors, 1, shape_.n)),
        warps_(warps_at_once<Sums>(processors, pieces_, shape_.n)) {
    add_workspace(static_cast<std::size_t>(shape_.k + sums_size(warps_, columns())) *
                  sizeof(double));
  }

 private:
  using Sums = AddToCentroids<Real, width>;

  std::int64_t columns() const { return shape_.k * (shape_.d + 1) + pieces_; }

  void start_all() override {
    const auto& [kernel, n, d, k] = shape_;
    const auto* const centroids = find<const Real>("centroids");
    auto* const labels = find<std::int32_t>("labels");
    auto* const half_norms = find<Real>("workspace");
    double* const parts = find<double>("workspace") + k;
    const NearestCentroid<Real, width> nearest{find<const Real>("x"), centroids, half_norms, d, k};
    start(HalfNorm<Real>{centroids, half_norms, d}, k * warp_lanes);
    if (pieces_ > 1)
      start(FindLabels<Real, width>{nearest, n, finders_, labels}, finders_ * warp_lanes);
    start(Sums{nearest, pieces_ == 1, n, warps_, columns(), labels, parts},
          pieces_ * warps_ * warp_lanes);
    start(AddCentroids{few(parts, warps_, columns()), k, d, find<double>("sums"),
                       find<double>("counts"), find<double>("inertia")},
          k * (d + 1) + 1);
  }

  LinalgShape shape_;
  std::int64_t pieces_, finders_, warps_;
};

}  // namespace

std::unique_ptr<Operation> make_kmeans_assign(const LinalgProblem& problem, int processors) {
  return with_packs(
      problem.precision(), problem.shape().d,
      [&](auto element, auto width) -> std::unique_ptr<Operation> {
        return std::make_unique<KmeansAssign<decltype(element), decltype(width)::value>>(
            problem, processors);
      });
}

}  // namespace assay::cuda
