// The short measurements with which a standalone program recognises an impossible row:
// assay-stream's own operations, of a size that takes a millisecond.
#include "core/api/ceiling_problem.hpp"

#include "kernels/native/backend.hpp"
#include "kernels/stream/problem.hpp"

namespace assay::native {
namespace {

/// Adds the FLOPs and bytes of a run to the operation.
class CeilingOperation final : public Operation {
 public:
  CeilingOperation(std::unique_ptr<Operation> inner, const StreamProblem& problem)
      : inner_(std::move(inner)), flops_(problem.flops()), bytes_(problem.bytes()) {}
  const std::vector<TensorSpec>& arguments() const override { return inner_->arguments(); }
  void bind(std::span<Tensor* const> tensors) override { inner_->bind(tensors); }
  void run(Stream& stream) override { inner_->run(stream); }
  Execution execution() const override {
    Execution ran = inner_->execution();
    ran.numbers["flops"] = flops_;
    ran.numbers["bytes"] = bytes_;
    return ran;
  }

 private:
  std::unique_ptr<Operation> inner_;
  double flops_, bytes_;
};

Result<std::unique_ptr<Operation>> make_ceiling(Device& device, const Problem& what,
                                                const Options& options, Communicator& ranks) {
  const auto& problem = problem_cast<CeilingProblem>(what);
  const bool fma = problem.kernel() == CeilingProblem::Kernel::fma;
  // 16 KiB for each thread: half of the smallest first-level cache of known processors.
  const StreamShape shape{fma ? StreamKernel::fma : StreamKernel::read,
                          fma ? 16384 : std::int64_t{2048} * problem.threads()};
  const StreamProblem stream(shape, fma ? problem.precision() : Precision::fp64, problem.threads());
  auto operation = makers().at(StreamProblem::kind_name).make(device, stream, options, ranks);
  if (auto* refusal = std::get_if<Unsupported>(&operation)) return std::move(*refusal);
  return std::make_unique<CeilingOperation>(
      std::move(std::get<std::unique_ptr<Operation>>(operation)), stream);
}

const Maker add_ceiling{makers(), problem_kind<CeilingProblem>(), &make_ceiling, {}};

}  // namespace
}  // namespace assay::native
