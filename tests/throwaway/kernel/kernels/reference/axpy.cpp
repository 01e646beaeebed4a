#include "kernels/axpy/problem.hpp"

#include "kernels/reference/backend.hpp"

namespace assay::reference {

namespace {

template <class T>
class Axpy final : public Operation {
 public:
  explicit Axpy(const AxpyProblem& problem) : arguments_(problem.tensors()) {}
  const std::vector<TensorSpec>& arguments() const override { return arguments_; }
  void bind(std::span<Tensor* const> tensors) override {
    tensors_.assign(tensors.begin(), tensors.end());
  }
  void run(Stream&) override {
    const T* x = static_cast<const T*>(tensors_[0]->data());
    const T* y = static_cast<const T*>(tensors_[1]->data());
    T* out = static_cast<T*>(tensors_[2]->data());
    for (std::int64_t i = 0; i < arguments_[0].elements(); ++i) out[i] = T{2} * x[i] + y[i];
  }
  Execution execution() const override {
    Execution execution;
    execution.algorithm = "direct";
    execution.implementation = "axpy loop";
    execution.storage = execution.compute = execution.accumulate =
        std::string(name(arguments_[0].type));
    execution.evidence = "library";
    return execution;
  }

 private:
  std::vector<TensorSpec> arguments_;
  std::vector<Tensor*> tensors_;
};

Result<std::unique_ptr<Operation>> make_axpy(Device&, const Problem& problem, const Options&,
                                             Communicator&) {
  const auto& axpy = problem_cast<AxpyProblem>(problem);
  if (axpy.tensors()[0].type == DataType::fp64) return std::make_unique<Axpy<double>>(axpy);
  return std::make_unique<Axpy<float>>(axpy);
}

const Maker add{makers(), problem_kind<AxpyProblem>(), &make_axpy, {"direct"}};

}  // namespace

}  // namespace assay::reference
