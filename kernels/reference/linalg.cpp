// The dense kernels of data analysis in fp64, rounded once: sums by plain loops, factorizations by
// Eigen.

#include "kernels/reference/linalg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace assay::reference {
namespace {

class PlainSyrk final : public PlainOperation {
 public:
  PlainSyrk(const LinalgProblem& problem, int threads)
      : PlainOperation(problem, threads), shape_(problem.shape()) {}

  void run(Stream&) override {
    const auto d = static_cast<std::size_t>(shape_.d);
    std::vector<double> sums(d * d);
#pragma omp parallel num_threads(threads_)
    {
      std::vector<double> row(d), part(d * d);
#pragma omp for schedule(static)
      for (std::int64_t r = 0; r < shape_.n; ++r) {
        read(0, r * shape_.d, row);
        for (std::size_t i = 0; i < d; ++i)
          for (std::size_t j = 0; j < d; ++j) part[i * d + j] += row[i] * row[j];
      }
#pragma omp critical
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
    }
    write(1, 0, sums);
  }

 private:
  LinalgShape shape_;
};

Result<std::unique_ptr<Operation>> make_linalg(Device&, const Problem& problem,
                                               const Options& options, Communicator&) {
  if (auto why = why_not_direct(options)) return Unsupported{std::move(*why)};
  const auto& linalg = problem_cast<LinalgProblem>(problem);
  const int threads = std::max(1, options.threads);
  if (auto operation = make_observations(linalg, threads)) return operation;
  switch (linalg.shape().kernel) {
    case LinalgKernel::syrk:
      return std::make_unique<PlainSyrk>(linalg, threads);
    case LinalgKernel::eigh:
      return make_eigh(linalg, threads);
    case LinalgKernel::qr:
      return make_qr(linalg, threads);
    default:
      return Unsupported{
          fmt::format("reference has no kernel {} of linalg.", name(linalg.shape().kernel))};
  }
}

const Maker add_linalg{makers(), problem_kind<LinalgProblem>(), &make_linalg, {"direct"}};

}  // namespace

}  // namespace assay::reference
