#include "kernels/concat/problem.hpp"

#include <algorithm>

#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/concat_items.hpp"
#include "kernels/cuda/own_operation.hpp"

namespace assay::cuda {
namespace {

template <class Stored, int width>
class Concatenation final : public OwnOperation {
 public:
  explicit Concatenation(const ConcatProblem& problem)
      : OwnOperation(problem, problem.precision(), problem.tensors()),
        shape_(problem.shape()),
        forward_(problem.direction() == ConcatDirection::forward),
        packs_(problem.channels() / width) {
    lay_channels_last();
  }

 private:
  void start_all() override {
    CopyPiece<Stored, width> copy{};
    copy.whole = data<Stored>(forward_ ? shape_.channels.size() : 0);
    copy.packs = Divisor(packs_);
    copy.join = forward_;
    std::int64_t end = 0;
    for (std::size_t k = 0; k < shape_.channels.size(); ++k) {
      copy.pieces[k] = data<Stored>(forward_ ? k : k + 1);
      copy.ends[k] = end += shape_.channels[k] / width;
    }
    start(copy, shape_.mb * shape_.ih * shape_.iw * packs_);
  }

  ConcatShape shape_;
  bool forward_;
  std::int64_t packs_;  ///< of a pixel of the whole
};

Result<std::unique_ptr<Operation>> make_concat(Device& device, const Problem& what,
                                               const Options& options, Communicator&) {
  using OperationResult = std::unique_ptr<Operation>;
  return make_stored<ConcatProblem>(
      device, what, options, [](const ConcatProblem& problem, auto stored) -> OperationResult {
        using Stored = decltype(stored);
        if (std::ranges::all_of(problem.shape().channels, [](std::int64_t channels) {
              return channels % widest<Stored> == 0;
            }))
          return std::make_unique<Concatenation<Stored, widest<Stored>>>(problem);
        return std::make_unique<Concatenation<Stored, 1>>(problem);
      });
}

const Maker add_concat{makers(), problem_kind<ConcatProblem>(), &make_concat, {"direct"}};

}  // namespace
}  // namespace assay::cuda
