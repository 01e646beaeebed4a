#pragma once
// Pooling: the largest, or the mean, of the elements of each window of a plane.
//
//   forward   dst[n,c,y,x] = max or mean of src[n,c,y*sh+i-ph,x*sw+j-pw] over the elements of the
//             window that are inside src: what pads is neither counted nor the largest
//   backward  max: each diff_dst goes to the largest element of its window, of equal ones to the
//             first in row-major order; average: in equal parts to all of them
//
// Logical layouts (row-major): src [mb, ic, ih, iw], dst [mb, ic, oh, ow]. Tensor names:
//   forward_training, forward_inference  src -> dst
//   backward                             [src], diff_dst -> diff_src; src for max alone
// What a backward pass needs of its forward pass beside src is the library's own (Role::saved).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/pool.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

struct PoolShape {
  std::int64_t mb = 0, ic = 0, ih = 0, iw = 0, oh = 0, ow = 0, kh = 0, kw = 0;
  std::int64_t sh = 1, sw = 1, ph = 0, pw = 0;  ///< steps of windows; padding above and at the left
  bool operator==(const PoolShape&) const = default;
};

/// "mb16ic64ih112kh3sh2ph1", as benchdnn's: widths are as heights where they are left out, steps 1,
/// padding 0, and the output size follows: floor((ih + 2 ph - kh) / sh) + 1. Given (oh, ow), it may
/// be any with which no window lies outside of src. InputError names the field.
PoolShape parse_pool(const std::string& descriptor);
/// The normalised descriptor: parse_pool(to_descriptor(s)) == s.
std::string to_descriptor(const PoolShape& shape);

enum class PoolDirection { forward_training, forward_inference, backward };
/// Names in the enumeration's order.
const std::vector<std::string>& pool_direction_names();
const std::string& name(PoolDirection direction);
PoolDirection pool_direction(const std::string& name);  ///< InputError for a name that is none

enum class PoolMode { max, average };
/// Names in the enumeration's order.
const std::vector<std::string>& pool_mode_names();
const std::string& name(PoolMode mode);
PoolMode pool_mode(const std::string& name);  ///< InputError for a name that is none

class PoolProblem final : public ProblemOf<PoolProblem> {
 public:
  static constexpr const char* kind_name = "pool";
  static constexpr const char* kind_version = problem_version::pool;
  PoolProblem(const PoolShape& shape, PoolDirection direction, PoolMode mode, Precision precision)
      : shape_(shape), direction_(direction), mode_(mode), precision_(precision) {}
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;
  /// 0: memory traffic is what this costs, and no count of its operations is common.
  double flops() const override { return 0; }
  /// Every input read once, every output written once.
  double bytes() const override;

  const PoolShape& shape() const { return shape_; }
  PoolDirection direction() const { return direction_; }
  PoolMode mode() const { return mode_; }
  Precision precision() const { return precision_; }
  /// Inputs, then the output, in the order above.
  std::vector<TensorSpec> tensors() const;

 private:
  PoolShape shape_;
  PoolDirection direction_;
  PoolMode mode_;
  Precision precision_;
};

/// The elements of one dimension that a window covers: [first, last).
struct PoolWindow {
  std::int64_t first, last;
};
inline PoolWindow pool_window(std::int64_t at, std::int64_t step, std::int64_t padding,
                              std::int64_t taps, std::int64_t extent) {
  const std::int64_t begin = at * step - padding;
  return {begin < 0 ? 0 : begin, begin + taps < extent ? begin + taps : extent};
}

/// Why no backend computes this problem in its precision; nothing where one may.
std::optional<std::string> why_not_precision(const PoolProblem& problem);

/// fp64 values of all outputs and their bounds (docs/method-pool.md).
std::unique_ptr<Oracle> pool_oracle(const PoolProblem& problem);

}  // namespace assay
