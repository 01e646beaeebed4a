#include "kernels/resize/problem.hpp"

#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/own_operation.hpp"
#include "kernels/cuda/resize_items.hpp"

namespace assay::cuda {
namespace {

template <class Stored, int width>
class Resizing final : public OwnOperation {
 public:
  explicit Resizing(const ResizeProblem& problem)
      : OwnOperation(problem, problem.precision(), problem.tensors()),
        planes_(planes(problem.shape(), problem.coordinates() == ResizeCoordinates::aligned)),
        count_(problem.tensors()[1].elements() / width),
        forward_(problem.direction() == ResizeDirection::forward) {
    lay_channels_last();
  }

 private:
  static ResizePlanes planes(const ResizeShape& s, bool aligned) {
    return {{s.ih, s.oh, aligned}, {s.iw, s.ow, aligned}, s.ic, Divisor(s.ic / width)};
  }

  void start_all() override {
    const auto* const from = data<const Stored>(0);
    auto* const to = data<Stored>(1);
    if (forward_)
      start(ResizePixel<Stored, width>{from, planes_, to}, count_);
    else
      start(ResizeGather<Stored, width>{from, planes_, to}, count_);
  }

  ResizePlanes planes_;
  std::int64_t count_;  ///< threads for every element of the output
  bool forward_;
};

const Maker add_resize{
    makers(), problem_kind<ResizeProblem>(), &make_own<ResizeProblem, Resizing>, {"direct"}};

}  // namespace
}  // namespace assay::cuda
