#pragma once
// A native recurrent network. Each of its passes has a file of its own.

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "kernels/native/rnn_parts.hpp"

namespace assay::native {

class RnnNetwork {
 public:
  RnnNetwork(const RnnProblem& problem, int threads);
  const RnnPlan& plan() const { return plan_; }
  /// Floats of the three memories that bind() takes.
  std::ptrdiff_t saved() const { return plan_.saved; }
  std::ptrdiff_t packed() const { return plan_.packed; }
  std::ptrdiff_t scratch() const { return plan_.scratch + threads_ * plan_.own_each; }
  /// Plain fp32 tensors by name, what the forward pass saves, packed weights, and scratch.
  void bind(std::map<std::string, float*, std::less<>> tensors, float* saved, float* packed,
            float* scratch);

  /// Packs the weights for forward(), and those for backward_data().
  void pack_forward();
  void pack_backward();
  /// Call it after pack_forward(). Writes those of the dst_* that are bound.
  void forward();
  /// Call it after forward() and pack_backward(). Writes those of the diff_src_* that are bound.
  void backward_data();
  /// Call it after backward_data().
  void backward_weights();

 private:
  using GateArrays = std::array<float*, 4>;
  /// The parts [first, last) of `count` that this thread computes. They are the same in every step,
  /// so that their weights stay in the caches of the core.
  struct Share {
    std::ptrdiff_t first, last;
  };
  static Share share(std::ptrdiff_t count);
  float* tensor(std::string_view name) const {
    const auto entry = tensors_.find(name);
    return entry == tensors_.end() ? nullptr : entry->second;
  }
  /// The first element of the weights of a layer and direction (input: -1 if it has none).
  std::ptrdiff_t input_weight(const RnnWalk& walk) const;
  std::ptrdiff_t recurrent_weight(const RnnWalk& walk) const;
  std::ptrdiff_t index(const RnnWalk& walk) const {
    return walk.layer * plan_.s.directions + walk.direction;
  }
  void read_sequence(const char* name, std::ptrdiff_t columns, std::ptrdiff_t parts, float* to);
  void write_sequence(const float* from, std::ptrdiff_t columns, std::ptrdiff_t parts,
                      const char* name);
  void read_state(const std::string& name, std::ptrdiff_t RnnWalk::*to);
  void write_state(const std::string& name, std::ptrdiff_t RnnWalk::*from, std::ptrdiff_t step);

  void forward(const RnnWalk& walk);
  /// Computes the products of one step with packed weights, from `a`; then calls done(block) for
  /// each block.
  template <class Done>
  void multiply_step(const RnnGroups& groups, const float* weights, const float* after,
                     const float* a, const GateArrays& to, const Done& done) const;
  void read_inputs(const RnnWalk& walk, std::ptrdiff_t first, std::ptrdiff_t count);
  void add_inputs(const RnnWalk& walk, std::ptrdiff_t first, std::ptrdiff_t count);
  void copy_inputs(const RnnWalk& walk, std::ptrdiff_t first, std::ptrdiff_t count);
  void forward_step(const RnnWalk& walk, std::ptrdiff_t k, std::ptrdiff_t held);
  /// A block of 16 units as it is multiplied, bf16.
  void round_block(const float* from, float* operand, std::ptrdiff_t block) const;
  void begin_pairs();
  void publish(const RnnWalk& walk, std::ptrdiff_t k, std::ptrdiff_t held, std::ptrdiff_t block);
  RnnStep step_at(const RnnWalk& walk, std::ptrdiff_t held, std::ptrdiff_t block) const;

  void backward(const RnnWalk& walk);
  void backward_step(const RnnWalk& walk, std::ptrdiff_t k, float* diff_h, float* arriving);
  const float* transpose_group(std::ptrdiff_t weights, const RnnGroups& groups,
                               std::ptrdiff_t group, std::ptrdiff_t gate) const;
  void through_gate(const RnnWalk& walk, const float* diff, std::ptrdiff_t gate,
                    std::ptrdiff_t next, float* to) const;
  void through_inputs(const RnnWalk& walk, const RnnGroups& groups, std::ptrdiff_t group,
                      std::ptrdiff_t gate, bool add) const;
  void diff_inputs(const RnnWalk& walk);
  RnnBackStep back_step_at(const RnnWalk& walk, std::ptrdiff_t k, std::ptrdiff_t block,
                           const float* diff_h, float* arriving) const;

  float* own() const;
  /// Products of one group; gate g of block b goes to to[g] + b * [N][16].
  void multiply_group(const RnnGroups& groups, std::ptrdiff_t group, RnnProduct product,
                      const GateArrays& to) const;

  void weight_gradients(const RnnWalk& walk);
  struct Reduction;
  void reduce(const Reduction& reduction) const;
  void transpose_operands(const Reduction& reduction, std::ptrdiff_t first,
                          std::ptrdiff_t count) const;
  void repack_gradients(const Reduction& reduction, std::ptrdiff_t gate, std::ptrdiff_t block,
                        std::ptrdiff_t width, std::ptrdiff_t first, std::ptrdiff_t count,
                        float* to) const;
  void reduce_group(const Reduction& reduction, std::ptrdiff_t gate, std::ptrdiff_t group,
                    std::ptrdiff_t first, std::ptrdiff_t count) const;
  template <class Copy>
  void each_line(const Reduction& reduction, std::ptrdiff_t gate, std::ptrdiff_t block,
                 const RnnProduct& product, std::ptrdiff_t row, const Copy& copy) const;
  void bias_gradients(const RnnWalk& walk);

  RnnPlan plan_;
  int threads_;
  const GemmTable& gemm_;
  void (*multiply_)(const RnnProduct& product);
  const RnnTable& cells_;
  std::map<std::string, float*, std::less<>> tensors_;
  float *saved_ = nullptr, *packed_ = nullptr, *scratch_ = nullptr;
  float *above_ = nullptr, *below_ = nullptr;
};

}  // namespace assay::native
