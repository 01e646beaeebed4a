// Dropout, channels innermost, so that elements are in the order of their numbers.

#include "kernels/dropout/problem.hpp"

#include <algorithm>

#include "core/api/layout.hpp"
#include "kernels/native/backend.hpp"
#include "kernels/native/dropout_simd.hpp"
#include "kernels/native/parts.hpp"

namespace assay::native {
namespace {

template <class Value>
class Dropout final : public BoundOperation {
 public:
  Dropout(const DropoutProblem& problem, int threads)
      : BoundOperation(problem.tensors()),
        problem_(problem),
        table_(dropout_tables().table<Value>(storage(problem.precision()))),
        threads_(threads),
        elements_(problem.shape().elements()),
        element_(static_cast<std::ptrdiff_t>(size_of(storage(problem.precision())))) {
    execution_ = make_direct_execution(problem.precision(), table_.target, "nhwc");
    lay_channels_last(arguments_);
  }

  void run(Stream&) override {
    const DropoutMask mask = dropout_mask(problem_, *data<const std::int32_t>(1));
    const std::int64_t parts = (elements_ + part - 1) / part;
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t i = 0; i < parts; ++i) {
      const std::int64_t first = i * part;
      table_.drop(mask, first, std::min(part, elements_ - first),
                  data<const std::byte>(0) + first * element_,
                  data<std::byte>(2) + first * element_);
    }
  }

 private:
  static constexpr std::int64_t part = 16384;  ///< elements that a thread takes at once
  DropoutProblem problem_;
  const DropoutTable<Value>& table_;
  int threads_;
  std::int64_t elements_;
  std::ptrdiff_t element_;
};

const Maker add_dropout{
    makers(), problem_kind<DropoutProblem>(), &make_direct<DropoutProblem, Dropout>, {"direct"}};

}  // namespace
}  // namespace assay::native
