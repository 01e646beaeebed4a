#pragma once
// Dropout (N. Srivastava et al., Dropout: A Simple Way to Prevent Neural Networks from Overfitting,
// JMLR 15, 2014), scaled in training, as in PyTorch, so that inference does nothing.
//
// Each element is kept with the probability 1 - p, and multiplied by 1 / (1 - p); the others become
// 0. The mask is a function of the layer's key and the step, so that a repeated step, and the
// backward pass, have the same mask, which is not stored:
//   Element e, counted with the channels innermost whatever the layout, has word e mod 4 of the
//   block e / 4 of Philox4x32-10 (J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3,
//   SC11) with the counter (block mod 2^32, block / 2^32, step, 0) and the key (key mod 2^32,
//   key / 2^32). It is kept if that word is at least p 2^32, rounded to an integer.
//   scale = 1 / (1 - p), rounded to fp32 (in fp64 problems to fp64)
//   forward   dst = scale src where kept, else 0
//   backward  diff_src = scale diff_dst where kept, else 0
// A product is rounded to fp32 (fp64), then to the type of the tensor: an element has one right
// value. Layers and ranks have masks of their own by keys of their own.
//
// Logical layouts (row-major): [mb, ic, ih, iw] in the type of the precision; counter [1], the
// step, is s32 and not negative. A dense layer has ih = iw = 1. Tensor names:
//   forward   src, counter -> dst
//   backward  diff_dst, counter -> diff_src

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/dropout.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"
#include "core/base/name_table.hpp"

namespace assay {

/// The largest p: fp16's numbers end at 65504, and scale is then 100.
inline constexpr double largest_dropout = 0.99;

struct DropoutShape {
  std::int64_t mb = 0, ic = 0, ih = 1, iw = 1;
  double p = 0.5;        ///< of an element to be dropped, in [0, largest_dropout]
  std::int64_t key = 0;  ///< not negative
  bool operator==(const DropoutShape&) const = default;
  std::int64_t elements() const { return mb * ic * ih * iw; }
};

/// Parses "mb16ic64ih56p0.2k7" (k: the key), or "mb100ic2000" for a dense layer. Defaults: width
/// equal to height, p 0.5, key 0. InputError names the field that is wrong.
DropoutShape parse_dropout(const std::string& descriptor);
/// The normalised descriptor: parse_dropout(to_descriptor(s)) == s.
std::string to_descriptor(const DropoutShape& shape);

enum class DropoutDirection { forward, backward };
const NameTable<DropoutDirection>& get_name_table(DropoutDirection);

class DropoutProblem final : public ShapedProblem<DropoutProblem, DropoutShape> {
 public:
  static constexpr const char* kind_name = "dropout";
  static constexpr const char* kind_version = problem_version::dropout;
  DropoutProblem(const DropoutShape& shape, DropoutDirection direction, Precision precision)
      : ShapedProblem(shape, precision), direction_(direction) {}
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;

  DropoutDirection direction() const { return direction_; }
  /// Inputs, then the output, in the order above.
  std::vector<TensorSpec> tensors() const;

 private:
  DropoutDirection direction_;
};

/// The numbers that decide the mask of a step, for backends.
struct DropoutMask {
  std::uint32_t key[2] = {}, step = 0;
  std::uint32_t least = 0;  ///< word that is kept
  double scale = 1;
};
DropoutMask dropout_mask(const DropoutProblem& problem, std::int32_t counter);

/// The reason why this problem does not exist in its precision; nothing if it does.
std::optional<std::string> why_not_precision(const DropoutProblem& problem);

/// Expected values of all elements, exactly.
std::unique_ptr<Oracle> make_dropout_oracle(const DropoutProblem& problem);

}  // namespace assay
