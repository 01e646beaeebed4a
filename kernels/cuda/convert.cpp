#include "kernels/convert/problem.hpp"

#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/conv_items.hpp"
#include "kernels/cuda/own_operation.hpp"

namespace assay::cuda {
namespace {

template <class Stored>
class Conversion final : public OwnOperation {
 public:
  explicit Conversion(const ConvertProblem& problem)
      : OwnOperation(problem, problem.precision(), problem.tensors()), n_(problem.elements()) {
    execution_.storage = std::string(name(storage(problem.precision())));
  }

 private:
  void start_all() override {
    start(ToFp32<Stored>{find<const Stored>("src"), find<float>("dst"), n_},
          ToFp32<Stored>::items(n_));
  }

  std::int64_t n_;
};

Result<std::unique_ptr<Operation>> make_convert(Device& device, const Problem& what,
                                                const Options& options, Communicator&) {
  const auto& problem = problem_cast<ConvertProblem>(what);
  if (auto why = why_not_precision(problem)) return Unsupported{std::move(*why)};
  const Precision inputs = format(problem.precision()).arithmetic;
  if (auto why = why_not_own(problem, inputs, options, device)) return *why;
  if (inputs == Precision::bf16) return std::make_unique<Conversion<__nv_bfloat16>>(problem);
  return std::make_unique<Conversion<__half>>(problem);
}

const Maker add_convert{makers(), problem_kind<ConvertProblem>(), &make_convert, {"direct"}};

}  // namespace
}  // namespace assay::cuda
