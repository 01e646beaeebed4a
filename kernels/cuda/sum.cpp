#include "kernels/sum/problem.hpp"

#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/own_operation.hpp"
#include "kernels/cuda/sum_items.hpp"

namespace assay::cuda {
namespace {

template <class Stored>
class Sum final : public OwnOperation {
 public:
  explicit Sum(const SumProblem& problem)
      : OwnOperation(problem, problem.precision(), problem.tensors()), n_(problem.elements()) {}

 private:
  void start_all() override {
    auto* const a = find<Stored>("a");
    auto* const dst = find<Stored>("dst");
    start(Add<Stored>{a, find<const Stored>("b"), dst == nullptr ? a : dst, n_},
          (n_ + Add<Stored>::width - 1) / Add<Stored>::width);
  }

  std::int64_t n_;
};

const Maker add_sum{makers(), problem_kind<SumProblem>(), &make_own<SumProblem, Sum>, {"direct"}};

}  // namespace
}  // namespace assay::cuda
