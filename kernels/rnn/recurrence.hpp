#pragma once
// The reference of a recurrent network for some rows of the batch, forward and backward: values in
// fp64, with the variance of the rounding errors that a correct implementation may have. Rows do
// not depend on each other.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/rnn/gemm.hpp"
#include "kernels/rnn/problem.hpp"
#include "kernels/rnn/uncertain.hpp"
#include "kernels/rnn/weights.hpp"

namespace assay::recurrent {

/// Weights and biases of all layers and directions, exact in fp32.
struct Parameters {
  struct Matrix {
    Weights numbers;  ///< [rows][G*H]
    double mean_square = 0;
  };
  std::vector<Matrix> layer,
      iter;  ///< by [layer * D + direction]; layer: empty where there is none
  std::vector<std::vector<double>> bias;  ///< [B*H]
  /// `prover`: the device's, or null.
  Parameters(const RnnProblem& problem, const Inputs& inputs, Prover* prover = nullptr);
};

/// Leaves the elements of a vector unwritten. The threads that write them first then get their
/// memory from the system: gigabytes for long sequences, which would take one thread seconds.
template <class T>
struct UninitialisedAllocator : std::allocator<T> {
  UninitialisedAllocator() = default;
  template <class Other>
  UninitialisedAllocator(const UninitialisedAllocator<Other>&) {}
  template <class Other, class... From>
  void construct(Other* at, From&&... from) {
    if constexpr (sizeof...(From) == 0)
      ::new (static_cast<void*>(at)) Other;
    else
      ::new (static_cast<void*>(at)) Other(std::forward<From>(from)...);
  }
};
using Numbers = std::vector<double, UninitialisedAllocator<double>>;

/// An array of numbers with variances. The values are contiguous, as products need them.
struct Field {
  Numbers value, variance;
  /// The values are then undefined.
  void resize(std::int64_t count) {
    value.resize(static_cast<std::size_t>(count));
    variance.resize(static_cast<std::size_t>(count));
  }
  void clear(std::int64_t count) {
    resize(count);
#pragma omp parallel for if (count > worth_threads)
    for (std::int64_t i = 0; i < count; ++i) set(i, {});
  }
  UncertainNumber operator[](std::int64_t at) const {
    const auto i = static_cast<std::size_t>(at);
    return {value[i], variance[i]};
  }
  void set(std::int64_t at, const UncertainNumber& to) {
    const auto i = static_cast<std::size_t>(at);
    value[i] = to.value;
    variance[i] = to.variance;
  }
};

/// One layer in one direction. k counts steps in the order of the direction.
struct Walk {
  Field gates;           ///< [k][row][G][H]; after backward() it is diff()
  Field h, c;            ///< [k + 1][row][H]; the first is the initial state; c: only lstm
  Field aside;           ///< [k][row][H]; gru: r*h; gru_lbr: U_o h + b'_o, then diff_aside()
  Field diff_h, diff_c;  ///< [row][H]: gradients of the initial state

  /// Gradients of the gates' sums. The backward step reads the gates for the last time, so it
  /// overwrites them with their gradients: long sequences need gigabytes for each.
  const Field& diff() const { return gates; }
  /// gru_lbr: the gradient of U_o h + b'_o.
  const Field& diff_aside() const { return aside; }
};

class Recurrence {
 public:
  /// `rows`: indices of rows of the batch. `inputs` have the names of RnnProblem::tensors().
  Recurrence(const RnnProblem& problem, const Parameters& parameters, const Inputs& inputs,
             const Products& products, std::vector<std::int64_t> rows);
  /// Switches to other rows, in the same memory.
  void select(std::vector<std::int64_t> rows);
  /// `wants_output`: also read_by(L).
  void forward(bool wants_output);
  /// Call it once after forward(). `wants_input`: also compute diff_input().
  void backward(bool wants_input);

  Walk& walk(std::int64_t layer, std::int64_t direction) {
    return walks_[static_cast<std::size_t>(layer * shape_.directions + direction)];
  }
  const Walk& walk(std::int64_t layer, std::int64_t direction) const {
    return walks_[static_cast<std::size_t>(layer * shape_.directions + direction)];
  }
  /// The input of a layer, [T][row][count_inputs(layer)]; read_by(L) is dst_layer.
  const Field& read_by(std::int64_t layer) const {
    return between_[static_cast<std::size_t>(layer)];
  }
  const Field& diff_input() const { return diff_between_; }
  const std::vector<std::int64_t>& rows() const { return rows_; }
  std::int64_t time(std::int64_t k, std::int64_t direction) const {
    return direction == 0 ? k : shape_.steps - 1 - k;
  }

 private:
  void forward(std::int64_t layer, std::int64_t direction);
  void add_inputs(Walk& walk, std::int64_t layer, std::int64_t direction);
  void forward_step(Walk& walk, std::int64_t at, std::int64_t k);
  /// Computes sums_, the sums of products of a step's gates, and gru_lbr's `aside`.
  void sum_products(Walk& walk, std::int64_t at, std::int64_t k);
  /// Adds to sums_ (and product_) the errors of rounding each product to 16 bits before the
  /// addition.
  void store_sums(const Walk& walk, std::int64_t at, std::int64_t k);
  void finish_gru(Walk& walk, std::int64_t at, std::int64_t k);
  void backward(std::int64_t layer, std::int64_t direction, const Field& above);
  void backward_step(Walk& walk, std::int64_t k);
  void finish_gru_backward(Walk& walk, std::int64_t at, std::int64_t k);
  void add_diff_inputs(const Walk& walk, std::int64_t layer, std::int64_t direction, Field& below);
  /// to[row][gates*H] += a[row][H] * weights, for `gates` gates from `first` on.
  void add_recurrent(const Field& a, std::int64_t from, std::int64_t at, std::int64_t first,
                     std::int64_t gates, Field& to, std::int64_t stride);
  /// to[row][H] += a[row][gates*H] * weights transposed.
  void add_transposed(const Field& a, std::int64_t from, std::int64_t stride, std::int64_t at,
                      std::int64_t first, std::int64_t gates, Field& to);
  /// Variance of the error of a sum of products of `count` elements of `a` with weights of mean
  /// square 1: from the errors of the elements and from the rounding of the sum.
  double noise(const Field& a, std::int64_t first, std::int64_t count) const;
  Field state(const char* name, std::int64_t layer, std::int64_t direction) const;
  void read_sequence(const char* name, std::int64_t width, Field& to) const;
  static UncertainNumber exact(double value) { return {value, 0}; }

  const RnnProblem& problem_;
  const Parameters& parameters_;
  const Inputs& inputs_;
  Products products_;
  RnnShape shape_;
  std::vector<std::int64_t> rows_;
  std::int64_t count_;  ///< of rows
  double u_operands_;   ///< of 16-bit states and gradients of gates, which products multiply
  double u_others_;     ///< of 16-bit gates, cell states and gradients of states; 0: fp32
  double u_sums_;       ///< of the products of a gate in 16 bits; 0: they are not stored
  std::vector<Walk> walks_;
  std::vector<Field> between_;
  Field diff_between_;  ///< gradient of what a layer gives, at last of src_layer
  Field sums_, product_, arriving_, diff_h_, diff_c_;  ///< of one step
  std::vector<double> input_noise_;                    ///< of the sums over inputs, by [k][row]
};

}  // namespace assay::recurrent
