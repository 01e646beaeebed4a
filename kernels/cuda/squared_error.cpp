#include "kernels/squared_error/problem.hpp"

#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/own_operation.hpp"
#include "kernels/cuda/squared_error_items.hpp"

namespace assay::cuda {
namespace {

template <class Stored>
class SquaredError final : public OwnOperation {
 public:
  explicit SquaredError(const SquaredErrorProblem& problem)
      : OwnOperation(problem, problem.precision(), problem.tensors()),
        shape_(problem.shape()),
        tiles_(count_tiles(shape_.features)) {
    add_workspace(static_cast<std::size_t>(6 * shape_.samples +
                                           sums_size(tiles_, 2 * shape_.samples) +
                                           sums_size(tiles_, 4 * shape_.samples)) *
                  sizeof(double));
  }

 private:
  using Value = ValueOf<Stored>;

  void start_all() override {
    if (shape_.features % widest<Stored> == 0)
      start_all<widest<Stored>>();
    else
      start_all<1>();
  }

  template <int width>
  void start_all() {
    const auto [samples, features] = shape_;
    auto *const means = find<double>("workspace"), *const totals = means + 2 * samples,
                *const of_means = totals + 4 * samples,
                *const of_totals = of_means + sums_size(tiles_, 2 * samples);
    const SquaredErrorInputs<Stored> in{find<const Stored>("outputs"),
                                        find<const Stored>("targets"), samples, features};
    start(SquaredErrorMeans<Stored, width>{in, of_means}, tiles_ * samples * warp_lanes);
    add_up(of_means, tiles_, 2 * samples, means);
    start(SquaredErrorSums<Stored, width>{in, means, find<const Value>("scale"),
                                          find<Stored>("diff_outputs"), of_totals},
          tiles_ * samples * warp_lanes);
    add_up(of_totals, tiles_, 4 * samples, totals);
    start(SquaredErrorResults<Value>{totals, features, find<Value>("losses"),
                                     find<Value>("correlations")},
          samples);
  }

  SquaredErrorShape shape_;
  std::int64_t tiles_;
};

const Maker add_squared_error{makers(),
                              problem_kind<SquaredErrorProblem>(),
                              &make_own<SquaredErrorProblem, SquaredError>,
                              {"direct"}};

}  // namespace
}  // namespace assay::cuda
