#include "kernels/sum/problem.hpp"

#include <algorithm>

#include "kernels/native/backend.hpp"
#include "kernels/native/parts.hpp"
#include "kernels/native/sum_simd.hpp"

namespace assay::native {
namespace {

class Sum final : public BoundOperation {
 public:
  Sum(const SumProblem& problem, int threads)
      : BoundOperation(problem.tensors()),
        n_(problem.elements()),
        size_(size_of(storage(problem.precision()))),
        table_(sum_table(storage(problem.precision()))),
        threads_(threads) {
    execution_ = make_direct_execution(problem.precision(), table_.target, "rows");
  }
  void run(Stream&) override {
    const std::byte *const a = data<const std::byte>(0), *const b = data<const std::byte>(1);
    std::byte* const to = data<std::byte>(data_.size() == 2 ? 0 : 2);  // in place, or not
    const std::int64_t blocks = (n_ + block - 1) / block;
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t i = 0; i < blocks; ++i) {
      const std::size_t at = static_cast<std::size_t>(i * block) * size_;
      table_.sum(a + at, b + at, std::min(block, n_ - i * block), to + at);
    }
  }

 private:
  static constexpr std::int64_t block = 16384;
  std::int64_t n_;
  std::size_t size_;
  const SumTable& table_;
  int threads_;
};

Result<std::unique_ptr<Operation>> make_sum(Device&, const Problem& problem, const Options& options,
                                            Communicator&) {
  const auto& sum = problem_cast<SumProblem>(problem);
  if (auto why = why_not_direct(sum, options)) return Unsupported{std::move(*why)};
  if (auto why = why_not_precision(sum)) return Unsupported{std::move(*why)};
  return std::make_unique<Sum>(sum, std::max(1, options.threads));
}

const Maker add_sum{makers(), problem_kind<SumProblem>(), &make_sum, {"direct"}};

}  // namespace
}  // namespace assay::native
