#pragma once
// Bilinear resizing of planes, as PyTorch's torch.nn.functional.interpolate(mode="bilinear")
// defines it (https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.interpolate.html;
// area_pixel_compute_source_index in ATen/native/UpSample.h).
//
//   Output o of an axis lies at the coordinate s of the input, which has `in` elements:
//     half_pixel  s = (o + 1/2) in / out - 1/2            (align_corners=False)
//     aligned     s = o (in - 1) / (out - 1), 0 if out = 1  (align_corners=True)
//   limited to [0, in - 1]. It reads the inputs i = floor(s) and i + 1 with the weights
//   1 - (s - i) and s - i. The weight of a pixel is the product of those of its row and column.
//
//   forward   dst[n, c, y, x] = the weighted sum of the four pixels of src that (y, x) reads. A src
//             of 1 x 1 is broadcast.
//   backward  diff_src[n, c, i, j] = the sum of diff_dst[n, c, y, x] over all (y, x) that read
//             (i, j), with the same weights
//
// Logical layouts (row-major): src [mb, ic, ih, iw], dst [mb, ic, oh, ow]. Tensor names:
//   forward   src -> dst
//   backward  diff_dst -> diff_src

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/resize.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"
#include "core/base/name_table.hpp"

namespace assay {

struct ResizeShape {
  std::int64_t mb = 0, ic = 0, ih = 0, iw = 0, oh = 0, ow = 0;
  bool operator==(const ResizeShape&) const = default;
};

/// Parses "mb2ic256ih24iw36oh96ow144". By default widths equal heights. InputError names the field.
ResizeShape parse_resize(const std::string& descriptor);
/// The normalised descriptor: parse_resize(to_descriptor(s)) == s.
std::string to_descriptor(const ResizeShape& shape);

enum class ResizeDirection { forward, backward };
const NameTable<ResizeDirection>& get_name_table(ResizeDirection);

enum class ResizeCoordinates { half_pixel, aligned };
const NameTable<ResizeCoordinates>& get_name_table(ResizeCoordinates);

class ResizeProblem final : public ShapedProblem<ResizeProblem, ResizeShape> {
 public:
  static constexpr const char* kind_name = "resize";
  static constexpr const char* kind_version = problem_version::resize;
  ResizeProblem(const ResizeShape& shape, ResizeDirection direction, ResizeCoordinates coordinates,
                Precision precision)
      : ShapedProblem(shape, precision), direction_(direction), coordinates_(coordinates) {}
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;

  ResizeDirection direction() const { return direction_; }
  ResizeCoordinates coordinates() const { return coordinates_; }
  /// The input, then the output.
  std::vector<TensorSpec> tensors() const;

 private:
  ResizeDirection direction_;
  ResizeCoordinates coordinates_;
};

/// The number that Execution reports for the roundings of a coordinate, if a backend computes it in
/// the type of its accumulator. 0: weights are quotients of integers, rounded once.
inline constexpr const char* coordinate_roundings = "coordinate_roundings";

/// The reason why this problem does not exist in its precision; nothing if it does.
std::optional<std::string> why_not_precision(const ResizeProblem& problem);

/// Expected values of all outputs in fp64, and error bounds (docs/method-pool.md).
std::unique_ptr<Oracle> make_resize_oracle(const ResizeProblem& problem);

}  // namespace assay
