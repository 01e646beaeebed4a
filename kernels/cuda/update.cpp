// The update of parameters: sums over all tensors in stages, the step of each tensor from its
// norms, and one pass that updates.

#include "kernels/update/problem.hpp"

#include <algorithm>

#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/own_operation.hpp"
#include "kernels/cuda/update_items.hpp"
#include "support/cuda/device.hpp"

namespace assay::cuda {
namespace {

/// A copy on the GPU with the lifetime of the operation.
template <class T>
std::shared_ptr<const T> copy_all_to_gpu(const std::vector<T>& from, const char* what) {
  const std::shared_ptr<void> to = gpu_memory(from.size() * sizeof(T), what);
  copy_to_gpu(to.get(), from.data(), from.size() * sizeof(T), what);
  return std::static_pointer_cast<const T>(to);
}

template <class Stored>
class Update final : public OwnOperation {
 public:
  explicit Update(const UpdateProblem& problem)
      : OwnOperation(problem, problem.precision(), problem.tensors()),
        count_(static_cast<std::int64_t>(problem.shape().tensors.size())) {
    const UpdateShape& shape = problem.shape();
    const UpdateLoop loop = find_loop(shape.rule);
    constants_ = {shape.rule == UpdateRule::lars,
                  is_larc(shape.rule),
                  shape.rule == UpdateRule::adamw || shape.rule == UpdateRule::lamb,
                  shape.rule == UpdateRule::lamb,
                  loop,
                  shape.momentum,
                  shape.weight_decay,
                  shape.coefficient,
                  shape.beta1,
                  loop == UpdateLoop::rmsprop ? shape.alpha : shape.beta2,
                  shape.epsilon};
    std::vector<UpdateBlock> blocks;
    std::vector<UpdateTensorBlocks> tensors;
    std::int64_t begin = 0;
    for (const UpdateTensor& tensor : shape.tensors) {
      const auto first = static_cast<std::int64_t>(blocks.size());
      for (std::int64_t at = 0; at < tensor.elements; at += update_block)
        blocks.push_back({begin + at,
                          static_cast<std::int32_t>(std::min(update_block, tensor.elements - at)),
                          static_cast<std::int32_t>(tensors.size())});
      tensors.push_back(
          {first, static_cast<std::int64_t>(blocks.size()), tensor.decays, tensor.adapts});
      begin += tensor.elements;
    }
    blocks_ = copy_all_to_gpu(blocks, "blocks of parameters");
    tensors_ = copy_all_to_gpu(tensors, "tensors of parameters");
    block_count_ = static_cast<std::int64_t>(blocks.size());
    // The counts of stale weights reuse the memory of the sums of blocks.
    add_workspace(static_cast<std::size_t>(count_ + block_count_) * sizeof(UpdateSums) +
                  static_cast<std::size_t>(count_) * sizeof(UpdateStep<Value>));
  }

 private:
  using Value = ValueOf<Stored>;

  void start_all() override {
    const auto* const gradient = find<const Value>("gradient");
    const auto *const rate = find<const Value>("rate"), *const unscale =
                                                            find<const Value>("unscale");
    auto *const weights = find<Value>("weights"), *const velocity = find<Value>("velocity");
    auto* const second = constants_.loop == UpdateLoop::momentum ? nullptr : find<Value>("second");
    const auto* const number =
        constants_.loop == UpdateLoop::moments ? find<const Value>("step") : nullptr;
    auto *const norms = find<double>("norms"), *const counts = find<double>("counts");
    auto* const of_tensors = find<UpdateSums>("workspace");
    auto* const of_blocks = of_tensors + count_;
    auto* const steps = reinterpret_cast<UpdateStep<Value>*>(of_blocks + block_count_);
    auto* const stale = reinterpret_cast<double*>(of_blocks);
    const std::int64_t threads = block_count_ * warp_lanes;
    start(SumParameters<Value>{gradient, weights, blocks_.get(), of_blocks}, threads);
    start(MakeStep<Value>{constants_, tensors_.get(), of_blocks, rate, unscale, number, of_tensors,
                          steps},
          count_ * warp_lanes);
    start(MakeNorms<Value>{of_tensors, count_, unscale, norms, counts}, warp_lanes);
    if (constants_.lamb) {
      start(SumDirections<Value>{gradient, weights, velocity, second, blocks_.get(), steps,
                                 of_blocks},
            threads);
      start(TrustDirections<Value>{tensors_.get(), of_blocks, of_tensors, rate, steps},
            count_ * warp_lanes);
    }
    start(UpdateParameters<Value, Stored>{gradient, blocks_.get(), steps, counts, constants_.loop,
                                          weights, velocity, second, find<Stored>("stored"), stale},
          threads);
    start(AddStale{stale, block_count_, counts + 2}, warp_lanes);
  }

  UpdateConstants constants_{};
  std::int64_t count_, block_count_ = 0;
  std::shared_ptr<const UpdateBlock> blocks_;
  std::shared_ptr<const UpdateTensorBlocks> tensors_;
};

const Maker add_update{
    makers(), problem_kind<UpdateProblem>(), &make_own<UpdateProblem, Update>, {"direct"}};

}  // namespace
}  // namespace assay::cuda
