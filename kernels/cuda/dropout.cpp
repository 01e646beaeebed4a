#include "kernels/dropout/problem.hpp"

#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/dropout_items.hpp"
#include "kernels/cuda/own_operation.hpp"

namespace assay::cuda {
namespace {

template <class Stored, int width>
class Dropout final : public OwnOperation {
 public:
  explicit Dropout(const DropoutProblem& problem)
      : OwnOperation(problem, problem.precision(), problem.tensors()),
        mask_(dropout_mask(problem, 0)),
        packs_(problem.shape().elements() / width) {
    lay_channels_last();
  }

 private:
  void start_all() override {
    start(Drop<Stored, width>{data<const Stored>(0), data<const std::int32_t>(1), mask_.key[0],
                              mask_.key[1], mask_.least, static_cast<ValueOf<Stored>>(mask_.scale),
                              data<Stored>(2)},
          packs_);
  }

  DropoutMask mask_;  ///< except the step, which is on the GPU
  std::int64_t packs_;
};

const Maker add_dropout{
    makers(), problem_kind<DropoutProblem>(), &make_own<DropoutProblem, Dropout>, {"direct"}};

}  // namespace
}  // namespace assay::cuda
