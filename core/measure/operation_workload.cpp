// One operation of one backend as a workload.

#include "core/measure/verified_workload.hpp"

namespace assay {
namespace {

class OperationWorkload final : public VerifiedWorkload {
 public:
  OperationWorkload(const Problem& problem, std::unique_ptr<Operation> operation, Device& device,
                    std::unique_ptr<Oracle> oracle, double create_seconds,
                    const OperationSetup& setup)
      : VerifiedWorkload(device, operation->arguments(), std::move(oracle), problem.amounts(),
                         create_seconds, setup),
        operation_(std::move(operation)) {
    bind_first();
  }

 private:
  void bind(std::span<Tensor* const> tensors) override { operation_->bind(tensors); }
  void prologue(Stream& stream) override { operation_->prologue(stream); }
  void execute(Stream& stream) override { operation_->run(stream); }
  Execution describe() const override { return operation_->execution(); }

  std::unique_ptr<Operation> operation_;
};

}  // namespace

std::unique_ptr<Workload> make_operation_workload(const Problem& problem,
                                                  std::unique_ptr<Operation> operation,
                                                  Device& device, std::unique_ptr<Oracle> oracle,
                                                  double create_seconds,
                                                  const OperationSetup& setup) {
  return std::make_unique<OperationWorkload>(problem, std::move(operation), device,
                                             std::move(oracle), create_seconds, setup);
}

}  // namespace assay
