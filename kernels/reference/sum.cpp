#include "kernels/sum/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/reference/backend.hpp"

namespace assay::reference {
namespace {

class PlainSum final : public Operation {
 public:
  PlainSum(const SumProblem& problem, int threads)
      : problem_(problem), threads_(threads), arguments_(problem.tensors()) {
    executed_.algorithm = "direct";
    executed_.implementation = "reference loops";
    executed_.storage = std::string(name(problem.precision()));
    executed_.compute = executed_.accumulate = std::string(name(DataType::fp64));
    executed_.layout = "rows";
  }
  const std::vector<TensorSpec>& arguments() const override { return arguments_; }
  Executed executed() const override { return executed_; }
  void bind(std::span<Tensor* const> tensors) override {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      data_[i] = static_cast<std::byte*>(tensors[i]->data());
    if (tensors.size() < data_.size()) data_[2] = data_[0];  // in place
  }
  void run(Stream&) override {
    const DataType type = storage(problem_.precision());
    const std::int64_t n = problem_.elements();
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t first = 0; first < n; first += block) {
      std::array<double, block> a, b;
      const auto count = static_cast<std::size_t>(std::min(block, n - first));
      const std::size_t at = static_cast<std::size_t>(first) * size_of(type);
      decode(type, data_[0] + at, std::span(a).first(count));
      decode(type, data_[1] + at, std::span(b).first(count));
      for (std::size_t i = 0; i < count; ++i) a[i] += b[i];
      encode(type, std::span(a).first(count), data_[2] + at);
    }
  }

 private:
  static constexpr std::int64_t block = 1024;
  SumProblem problem_;
  int threads_;
  std::vector<TensorSpec> arguments_;
  Executed executed_;
  std::array<std::byte*, 3> data_{};
};

Result<std::unique_ptr<Operation>> make_sum(Device&, const Problem& problem, const Options& options,
                                            Communicator&) {
  const auto& sum = problem_cast<SumProblem>(problem);
  if (const auto why = why_not_precision(sum)) return Unsupported{*why};
  return std::make_unique<PlainSum>(sum, std::max(1, options.threads));
}

const Maker add_sum{makers(), kind_of<SumProblem>(), &make_sum, {"direct"}};

}  // namespace
}  // namespace assay::reference
