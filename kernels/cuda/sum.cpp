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
    auto* const a = at<Stored>("a");
    auto* const dst = at<Stored>("dst");
    start(Add<Stored>{a, at<const Stored>("b"), dst == nullptr ? a : dst, n_},
          (n_ + Add<Stored>::width - 1) / Add<Stored>::width);
  }

  std::int64_t n_;
};

Result<std::unique_ptr<Operation>> make_sum(Device& device, const Problem& what,
                                            const Options& options, Communicator&) {
  const auto& problem = problem_cast<SumProblem>(what);
  if (const auto why = why_not_precision(problem)) return Unsupported{*why};
  if (auto why = why_not_own(problem, problem.precision(), options, device)) return *why;
  return with_stored(storage(problem.precision()), [&](auto stored) -> std::unique_ptr<Operation> {
    return std::make_unique<Sum<decltype(stored)>>(problem);
  });
}

const Maker add_sum{makers(), kind_of<SumProblem>(), &make_sum, {"direct"}};

}  // namespace
}  // namespace assay::cuda
