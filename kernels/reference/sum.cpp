#include "kernels/sum/problem.hpp"

#include <algorithm>
#include <array>

#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {
namespace {

class PlainSum final : public PlainOperation {
 public:
  PlainSum(const SumProblem& problem, int threads)
      : PlainOperation(problem, threads), n_(problem.elements()) {
    execution_.implementation = "reference loops";
    execution_.evidence = "requested";
  }
  void run(Stream&) override {
    const std::size_t to = arguments_.size() == 2 ? 0 : 2;  // in place, or not
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t first = 0; first < n_; first += block) {
      std::array<double, block> a, b;
      const std::size_t count = place(std::min(block, n_ - first));
      read(0, first, std::span(a).first(count));
      read(1, first, std::span(b).first(count));
      for (std::size_t i = 0; i < count; ++i) a[i] += b[i];
      write(to, first, std::span(a).first(count));
    }
  }

 private:
  static constexpr std::int64_t block = 1024;
  std::int64_t n_;
};

const Maker add_sum{
    makers(), problem_kind<SumProblem>(), &make_plain<SumProblem, PlainSum>, {"direct"}};

}  // namespace
}  // namespace assay::reference
