// Concatenation and its split by plain loops, on row-major tensors.

#include "kernels/concat/problem.hpp"

#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {
namespace {

/// In an image, the channels of a joined tensor are one run of elements, both in this tensor and in
/// the whole.
class PlainConcat final : public PlainOperation {
 public:
  PlainConcat(const ConcatProblem& problem, int threads)
      : PlainOperation(problem, threads, "nchw"), problem_(problem) {}

  void run(Stream&) override {
    const ConcatShape& s = problem_.shape();
    const bool forward = problem_.direction() == ConcatDirection::forward;
    const std::size_t whole = forward ? s.channels.size() : 0;
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t n = 0; n < s.mb; ++n) {
      std::int64_t at = n * problem_.channels() * s.ih * s.iw;
      for (std::size_t k = 0; k < s.channels.size(); ++k) {
        const std::int64_t run = s.channels[k] * s.ih * s.iw;
        const std::size_t piece = forward ? k : k + 1;
        if (forward)
          write(whole, at, read(piece, n * run, run));
        else
          write(piece, n * run, read(whole, at, run));
        at += run;
      }
    }
  }

 private:
  ConcatProblem problem_;
};

const Maker add_concat{makers(),
                       problem_kind<ConcatProblem>(),
                       &make_plain<ConcatProblem, PlainConcat, why_not_nchw>,
                       {"direct"}};

}  // namespace
}  // namespace assay::reference
