// Pooling, channels innermost. The backward pass of a maximum finds the largest elements again, and
// then gathers.

#include "kernels/pool/problem.hpp"

#include <fmt/format.h>

#include <limits>

#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/own_operation.hpp"
#include "kernels/cuda/pool_items.hpp"

namespace assay::cuda {
namespace {

template <class Stored, int width>
class Pooling final : public OwnOperation {
 public:
  explicit Pooling(const PoolProblem& problem)
      : OwnOperation(problem, problem.precision(), problem.tensors()),
        max_(problem.mode() == PoolMode::max),
        backward_(problem.direction() == PoolDirection::backward),
        planes_(planes(problem.shape())) {
    const PoolShape& s = problem.shape();
    inputs_ = s.mb * s.ih * s.iw * s.ic / width;
    outputs_ = s.mb * s.oh * s.ow * s.ic / width;
    lay_channels_last();
    if (max_ && backward_)
      add_workspace(static_cast<std::size_t>(outputs_ * width) * sizeof(PoolTap));
  }

 private:
  static PoolPlanes planes(const PoolShape& s) {
    return {{s.ih, s.oh, s.kh, s.sh, s.ph},
            {s.iw, s.ow, s.kw, s.sw, s.pw},
            s.ic,
            Divisor(s.ic / width)};
  }

  void start_all() override {
    const auto* const src = find<const Stored>("src");
    auto* const taps = find<PoolTap>("workspace");  // null if no backward pass reads them
    if (max_)
      start(PoolLargest<Stored, width>{src, planes_, find<Stored>("dst"), taps}, outputs_);
    else if (!backward_)
      start(PoolMean<Stored, width>{src, planes_, find<Stored>("dst")}, outputs_);
    if (backward_)
      start(PoolGather<Stored, width>{find<const Stored>("diff_dst"), taps, planes_,
                                      find<Stored>("diff_src")},
            inputs_);
  }

  bool max_, backward_;
  PoolPlanes planes_;
  std::int64_t inputs_ = 0, outputs_ = 0;  ///< threads for every element of src, and of dst
};

Result<std::unique_ptr<Operation>> make_pool(Device& device, const Problem& what,
                                             const Options& options, Communicator& ranks) {
  const PoolShape& shape = problem_cast<PoolProblem>(what).shape();
  if (shape.kh * shape.kw > std::numeric_limits<PoolTap>::max())
    return Unsupported{
        fmt::format("cuda numbers the pixels of a window with 16 bits ({} has more). "
                    "Use a smaller window.",
                    what.canonical())};
  return make_own<PoolProblem, Pooling>(device, what, options, ranks);
}

const Maker add_pool{makers(), problem_kind<PoolProblem>(), &make_pool, {"direct"}};

}  // namespace
}  // namespace assay::cuda
