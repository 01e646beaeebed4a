#pragma once
// Pooling: the maximum or the mean of the elements in each window of a plane.
//
//   forward   dst[n,c,y,x] = maximum or mean over i, j of src[n, c, y*sh+i-ph, x*sw+j-pw]. Only
//             elements inside src count; padding does not.
//   backward  Each diff_dst is added to the largest element of its window, the first in row-major
//             order of equal ones (max), or in equal parts to all its elements inside src
//             (average).
//
// Logical layouts (row-major): src [mb, ic, ih, iw], dst [mb, ic, oh, ow]. Tensor names:
//   forward_training, forward_inference  src -> dst
//   backward                             [src], diff_dst -> diff_src; src only for max
// Libraries may save more in the forward pass for the backward pass (Role::saved).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/pool.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"
#include "core/base/name_table.hpp"

namespace assay {

struct PoolShape {
  std::int64_t mb = 0, ic = 0, ih = 0, iw = 0, oh = 0, ow = 0, kh = 0, kw = 0;
  std::int64_t sh = 1, sw = 1, ph = 0, pw = 0;  ///< strides; padding above and on the left
  bool operator==(const PoolShape&) const = default;
};

/// Parses "mb16ic64ih112kh3sh2ph1", as benchdnn does. Defaults: widths equal to heights, strides 1,
/// padding 0, output size floor((ih + 2 ph - kh) / sh) + 1. Another output size (oh, ow) is valid
/// if no window is completely outside src. InputError names the field.
PoolShape parse_pool(const std::string& descriptor);
/// The normalised descriptor: parse_pool(to_descriptor(s)) == s.
std::string to_descriptor(const PoolShape& shape);

enum class PoolDirection { forward_training, forward_inference, backward };
const NameTable<PoolDirection>& get_name_table(PoolDirection);

enum class PoolMode { max, average };
const NameTable<PoolMode>& get_name_table(PoolMode);

class PoolProblem final : public ShapedProblem<PoolProblem, PoolShape> {
 public:
  static constexpr const char* kind_name = "pool";
  static constexpr const char* kind_version = problem_version::pool;
  PoolProblem(const PoolShape& shape, PoolDirection direction, PoolMode mode, Precision precision)
      : ShapedProblem(shape, precision), direction_(direction), mode_(mode) {}
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;

  PoolDirection direction() const { return direction_; }
  PoolMode mode() const { return mode_; }
  /// Inputs, then the output, in the order above.
  std::vector<TensorSpec> tensors() const;

 private:
  PoolDirection direction_;
  PoolMode mode_;
};

/// The elements [first, last) of one dimension of src that a window covers.
struct PoolWindow {
  std::int64_t first, last;
};
inline PoolWindow pool_window(std::int64_t at, std::int64_t step, std::int64_t padding,
                              std::int64_t taps, std::int64_t extent) {
  const std::int64_t begin = at * step - padding;
  return {begin < 0 ? 0 : begin, begin + taps < extent ? begin + taps : extent};
}

/// The reason why this problem does not exist in its precision; nothing if it does.
std::optional<std::string> why_not_precision(const PoolProblem& problem);

/// Expected values of all outputs in fp64, and error bounds (docs/method-pool.md).
std::unique_ptr<Oracle> make_pool_oracle(const PoolProblem& problem);

}  // namespace assay
