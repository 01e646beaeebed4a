#include "kernels/convert/problem.hpp"

#include <algorithm>
#include <array>

#include "kernels/reference/backend.hpp"

namespace assay::reference {
namespace {

class PlainConversion final : public Operation {
 public:
  PlainConversion(const ConvertProblem& problem, int threads)
      : problem_(problem), threads_(threads), arguments_(problem.tensors()) {
    executed_.algorithm = "direct";
    executed_.implementation = "reference loops";
    executed_.storage = std::string(name(arguments_[0].type));
    executed_.compute = executed_.accumulate = std::string(name(arguments_[1].type));
    executed_.layout = "rows";
  }
  const std::vector<TensorSpec>& arguments() const override { return arguments_; }
  Executed executed() const override { return executed_; }
  void bind(std::span<Tensor* const> tensors) override {
    from_ = static_cast<const std::byte*>(tensors[0]->data());
    to_ = static_cast<std::byte*>(tensors[1]->data());
  }
  void run(Stream&) override {
    const DataType src = arguments_[0].type, dst = arguments_[1].type;
    const std::int64_t n = problem_.elements();
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t first = 0; first < n; first += block) {
      std::array<double, block> values;
      const auto count = static_cast<std::size_t>(std::min(block, n - first)),
                 at = static_cast<std::size_t>(first);
      decode(src, from_ + at * size_of(src), std::span(values).first(count));
      encode(dst, std::span(values).first(count), to_ + at * size_of(dst));
    }
  }

 private:
  static constexpr std::int64_t block = 1024;
  ConvertProblem problem_;
  int threads_;
  std::vector<TensorSpec> arguments_;
  Executed executed_;
  const std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
};

Result<std::unique_ptr<Operation>> make_convert(Device&, const Problem& problem,
                                                const Options& options, Communicator&) {
  const auto& convert = problem_cast<ConvertProblem>(problem);
  if (const auto why = why_not_precision(convert)) return Unsupported{*why};
  return std::make_unique<PlainConversion>(convert, std::max(1, options.threads));
}

const Maker add_convert{makers(), kind_of<ConvertProblem>(), &make_convert, {"direct"}};

}  // namespace
}  // namespace assay::reference
