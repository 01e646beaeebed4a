#include "kernels/convert/problem.hpp"

#include <algorithm>
#include <array>

#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {
namespace {

class PlainConversion final : public PlainOperation {
 public:
  PlainConversion(const ConvertProblem& problem, int threads)
      : PlainOperation(problem, threads), n_(problem.elements()) {
    execution_.implementation = "reference loops";
    execution_.storage = std::string(name(arguments_[0].type));
    execution_.compute = execution_.accumulate = std::string(name(arguments_[1].type));
    execution_.evidence = "requested";
  }
  void run(Stream&) override {
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t first = 0; first < n_; first += block) {
      std::array<double, block> values;
      const std::span<double> some = std::span(values).first(place(std::min(block, n_ - first)));
      read(0, first, some);
      write(1, first, some);
    }
  }

 private:
  static constexpr std::int64_t block = 1024;
  std::int64_t n_;
};

const Maker add_convert{makers(),
                        problem_kind<ConvertProblem>(),
                        &make_plain<ConvertProblem, PlainConversion>,
                        {"direct"}};

}  // namespace
}  // namespace assay::reference
