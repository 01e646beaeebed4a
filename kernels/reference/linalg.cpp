// The dense kernels of data analysis in fp64, rounded once: sums by plain loops, factorizations by
// Eigen.

#include "kernels/reference/linalg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/reference/backend.hpp"

namespace assay::reference {
namespace {

class PlainSyrk final : public Operation {
 public:
  PlainSyrk(const LinalgProblem& problem, int threads)
      : problem_(problem), arguments_(problem.tensors()), threads_(threads) {}

  const std::vector<TensorSpec>& arguments() const override { return arguments_; }

  void bind(std::span<Tensor* const> tensors) override {
    x_ = static_cast<std::byte*>(tensors[0]->data());
    c_ = static_cast<std::byte*>(tensors[1]->data());
  }

  void run(Stream&) override {
    const auto d = static_cast<std::size_t>(problem_.shape().d);
    const DataType type = arguments_[0].type;
    std::vector<double> sums(d * d);
#pragma omp parallel num_threads(threads_)
    {
      std::vector<double> row(d), part(d * d);
#pragma omp for schedule(static)
      for (std::int64_t r = 0; r < problem_.shape().n; ++r) {
        decode(type, x_ + static_cast<std::size_t>(r) * d * size_of(type), row);
        for (std::size_t i = 0; i < d; ++i)
          for (std::size_t j = 0; j < d; ++j) part[i * d + j] += row[i] * row[j];
      }
#pragma omp critical
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
    }
    encode(arguments_[1].type, sums, c_);
  }

  Executed executed() const override { return plain_loop(problem_); }

 private:
  LinalgProblem problem_;
  std::vector<TensorSpec> arguments_;
  int threads_;
  std::byte* x_ = nullptr;
  std::byte* c_ = nullptr;
};

Result<std::unique_ptr<Operation>> make_linalg(Device&, const Problem& problem,
                                               const Options& options, Communicator&) {
  const std::string algorithm = options.get("algorithm", "auto");
  if (algorithm != "auto" && algorithm != "direct")
    return Unsupported{fmt::format(
        "reference has no algorithm {} (it only computes direct). Use direct.", algorithm)};
  const auto& linalg = problem_cast<LinalgProblem>(problem);
  const int threads = std::max(1, options.threads);
  if (auto made = make_observations(linalg, threads)) return made;
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

const Maker add_linalg{makers(), kind_of<LinalgProblem>(), &make_linalg, {"direct"}};

}  // namespace

Executed plain_loop(const LinalgProblem& problem) {
  Executed out;
  out.algorithm = "direct";
  out.implementation = "plain loop";
  out.storage = std::string(name(problem.precision()));
  out.compute = out.accumulate = std::string(name(DataType::fp64));
  out.layout = "rows";
  out.evidence = "library";
  return out;
}

}  // namespace assay::reference
