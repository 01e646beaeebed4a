// The dense kernels of data analysis: the choice of their operations.

#include "kernels/native/linalg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/native/backend.hpp"
#include "kernels/native/parts.hpp"

namespace assay::native {

LinalgOperation::LinalgOperation(const LinalgProblem& problem, int threads, const char* target)
    : BoundOperation(problem.tensors()),
      problem_(problem),
      threads_(std::max(1, threads)),
      n_(problem.shape().n),
      d_(problem.shape().d),
      k_(problem.shape().k) {
  execution_ = make_direct_execution(problem.precision(), target, "rows");
  arguments_.front().memory = &large_pages;  // the table, which every run reads completely
  arguments_.push_back(workspace(0));        // grows with reserve()
}

std::size_t LinalgOperation::reserve_bytes(std::size_t bytes) {
  const std::size_t place = arguments_.back().bytes;
  arguments_.back().bytes = place + (bytes + line - 1) / line * line;
  execution_.workspace_bytes = arguments_.back().bytes;
  return place;
}

LinalgOperation::Range LinalgOperation::find_range(std::ptrdiff_t thread) const {
  const std::ptrdiff_t each = n_ / threads_, more = n_ % threads_;
  const std::ptrdiff_t begin = thread * each + std::min(thread, more);
  return {begin, begin + each + (thread < more ? 1 : 0)};
}

namespace {

Result<std::unique_ptr<Operation>> make_linalg(Device&, const Problem& problem,
                                               const Options& options, Communicator&) {
  if (auto why = why_not_direct(problem, options)) return Unsupported{std::move(*why)};
  const auto& linalg = problem_cast<LinalgProblem>(problem);
  switch (linalg.shape().kernel) {
    case LinalgKernel::syrk:
    case LinalgKernel::moments:
    case LinalgKernel::hinge_hessian:
      return make_gram(linalg, options.threads);
    case LinalgKernel::kmeans_assign:
      return make_kmeans_assign(linalg, options.threads);
    case LinalgKernel::hinge:
      return make_hinge(linalg, options.threads);
    default:
      return Unsupported{
          fmt::format("native has no kernel {} of linalg.", name(linalg.shape().kernel))};
  }
}

const Maker add_linalg{makers(), problem_kind<LinalgProblem>(), &make_linalg, {"direct"}};

}  // namespace
}  // namespace assay::native
