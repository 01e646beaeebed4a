#pragma once
// Concatenation of activations along their channels, as networks join branches and skips.
//
//   forward   dst[n, start_k + c, y, x] = src_k[n, c, y, x], where start_k is the sum of the
//             channels of the tensors before src_k
//   backward  diff_src_k[n, c, y, x] = diff_dst[n, start_k + c, y, x]
//
// Logical layouts (row-major): src_k [mb, channels_k, ih, iw], dst [mb, all channels, ih, iw].
// Tensor names:
//   forward   src0, src1, … -> dst
//   backward  diff_dst -> diff_src0, diff_src1, …
// All elements are copies, so each has exactly one correct value.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/concat.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"
#include "core/base/name_table.hpp"
#include "kernels/concat/formula_items.hpp"

namespace assay {

/// The most tensors that are joined.
inline constexpr std::size_t most_joined = concat::Dst::most_inputs;

struct ConcatShape {
  std::int64_t mb = 0, ih = 0, iw = 0;
  std::vector<std::int64_t> channels;  ///< of each joined tensor: two to most_joined of them
  bool operator==(const ConcatShape&) const = default;
};

/// Parses "mb2ca256cb48ih24iw36": ca, cb, … ch are the channels of the joined tensors, in their
/// order. By default iw equals ih. InputError names the field.
ConcatShape parse_concat(const std::string& descriptor);
/// The normalised descriptor: parse_concat(to_descriptor(s)) == s.
std::string to_descriptor(const ConcatShape& shape);

enum class ConcatDirection { forward, backward };
const NameTable<ConcatDirection>& get_name_table(ConcatDirection);

class ConcatProblem final : public ShapedProblem<ConcatProblem, ConcatShape> {
 public:
  static constexpr const char* kind_name = "concat";
  static constexpr const char* kind_version = problem_version::concat;
  /// InputError for more than most_joined tensors.
  ConcatProblem(ConcatShape shape, ConcatDirection direction, Precision precision);
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;

  /// Channels of dst.
  std::int64_t channels() const;
  ConcatDirection direction() const { return direction_; }
  /// Inputs, then outputs, in the order above.
  std::vector<TensorSpec> tensors() const;

 private:
  ConcatDirection direction_;
};

/// The reason why this problem does not exist in its precision; nothing if it does.
std::optional<std::string> why_not_precision(const ConcatProblem& problem);

/// The value of every element of the outputs.
std::unique_ptr<Oracle> make_concat_oracle(const ConcatProblem& problem);

}  // namespace assay
