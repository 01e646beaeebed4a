// The squared error and its gradients. Each thread takes whole samples, so that the result does not
// depend on the threads.

#include "kernels/squared_error/problem.hpp"

#include <cmath>

#include "kernels/native/backend.hpp"
#include "kernels/native/parts.hpp"
#include "kernels/native/squared_error_simd.hpp"

namespace assay::native {
namespace {

template <class Value>
class SquaredError final : public BoundOperation {
 public:
  SquaredError(const SquaredErrorProblem& problem, int threads)
      : BoundOperation(problem.tensors()),
        shape_(problem.shape()),
        table_(squared_error_tables().table<Value>(storage(problem.precision()))),
        threads_(threads),
        row_bytes_(shape_.features *
                   static_cast<std::ptrdiff_t>(size_of(storage(problem.precision())))) {
    execution_ = make_direct_execution(problem.precision(), table_.target, "rows");
  }

  void run(Stream&) override {
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t n = 0; n < shape_.samples; ++n) sample(n);
  }

 private:
  void sample(std::int64_t n) const {
    const auto [samples, features] = shape_;
    const std::ptrdiff_t row = n * row_bytes_;
    const ErrorSums sums = table_.sum(outputs_ + row, targets_ + row, features);
    losses_[n] = static_cast<Value>(sums.squares / static_cast<double>(features));
    const double size = std::sqrt(sums.xx) * std::sqrt(sums.tt), r = size == 0 ? 0 : sums.xt / size;
    correlations_[n] = static_cast<Value>(r > 1 ? 1 : r < -1 ? -1 : r);
    if (scale_ == nullptr) return;  // validation
    table_.gradients(outputs_ + row, targets_ + row, features,
                     static_cast<Value>(2 * static_cast<double>(*scale_) /
                                        static_cast<double>(features * samples)),
                     diff_outputs_ + row);
  }

  SquaredErrorShape shape_;
  const SquaredErrorTable<Value>& table_;
  int threads_;
  std::ptrdiff_t row_bytes_;
  Argument<const std::byte> outputs_{this, "outputs"}, targets_{this, "targets"};
  Argument<const Value> scale_{this, "scale"};
  Argument<Value> losses_{this, "losses"}, correlations_{this, "correlations"};
  Argument<std::byte> diff_outputs_{this, "diff_outputs"};
};

const Maker add_squared_error{makers(),
                              problem_kind<SquaredErrorProblem>(),
                              &make_direct<SquaredErrorProblem, SquaredError>,
                              {"direct"}};

}  // namespace
}  // namespace assay::native
