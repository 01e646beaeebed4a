#pragma once
// Convolution: shapes by benchdnn descriptor, three directions, FLOPs and bytes, and the fp64
// reference with its error bound.
//
// Logical layouts (row-major): src [mb, ic, ih, iw], weights [g, oc/g, ic/g, kh, kw], dst [mb, oc,
// oh, ow]. Tensor names: forward     src, weights -> dst bwd_data    diff_dst, weights -> diff_src
// bwd_weights src, diff_dst -> diff_weights
// Cross-correlation, as all deep-learning libraries: dst[n,o,y,x] = sum src[n,c,y*sh+i*(dh+1)-ph,
// x*sw+j*(dw+1)-pw] * weights[o,c,i,j]. 3-D convolutions ([n,c,d,h,w]) use the same code with depth
// 1 for 2-D.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/conv.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

/// Extents of a convolution. Padding may differ on the two sides (ph before, ph_r after). Dilation
/// as benchdnn: 0 = dense.
struct ConvShape {
  std::int64_t g = 1, mb = 2, ic = 0, id = 1, ih = 0, iw = 0, oc = 0, od = 1, oh = 0, ow = 0,
               kd = 1, kh = 0, kw = 0;
  std::int64_t sd = 1, sh = 1, sw = 1, dd = 0, dh = 0, dw = 0;
  std::int64_t pd = 0, ph = 0, pw = 0, pd_r = 0, ph_r = 0, pw_r = 0;
  bool operator==(const ConvShape&) const = default;
};

/// benchdnn's descriptor "g1mb16ic64ih112oc128oh112kh3ph1": what is left out is derived as benchdnn
/// does (mb 2, g 1, strides 1, output size from input and padding, padding from input and output
/// size, width from height, height and width from depth). Padding on the right always follows from
/// the output size. A name ("_n<name>" or n"name") at the end is ignored. InputError names the
/// field: unknown, twice, zero, negative, over 64 bits, groups that do not divide, impossible
/// output size (also where windows would lie wholly in padding that nobody asked for, which
/// benchdnn accepts).
ConvShape parse_conv(const std::string& descriptor);
/// The normalised descriptor: [g] mb ic ih [iw] oc oh [ow] kh [kw] [sh..] [dh..] [ph..]. Widths of
/// square problems, strides of 1, dilations of 0 and padding of 0 are left out where parse_conv
/// finds them by itself: parse_conv(to_descriptor(s)) == s.
std::string to_descriptor(const ConvShape& shape);

/// The value of the setting "layout" for activations with channels innermost and plain weights,
/// which an operation packs in every run where it needs them packed: as the layers of a network,
/// whose weights an optimizer updates after each step. Under other values a backend lays weights
/// out once, before it is timed.
inline constexpr const char* plain_weights_layout = "nhwc_oihw";

enum class ConvDirection { forward, bwd_data, bwd_weights };
/// Names of directions, in the enumeration's order.
const std::vector<std::string>& conv_direction_names();
const std::string& name(ConvDirection direction);
/// The direction of that name; InputError for a name that is none.
ConvDirection conv_direction(const std::string& name);

class ConvProblem final : public ProblemOf<ConvProblem> {
 public:
  static constexpr const char* kind_name = "conv";
  static constexpr const char* kind_version = problem_version::conv;
  ConvProblem(const ConvShape& shape, ConvDirection direction, Precision precision);
  std::string canonical() const override;
  nlohmann::json json() const override;
  /// 2 * mb * oc * od*oh*ow * ic/g * kd*kh*kw, the nominal count that everybody quotes (padding
  /// taps included).
  double flops() const override;
  double bytes() const override;

  const ConvShape& shape() const { return shape_; }
  ConvDirection direction() const { return direction_; }
  Precision precision() const { return precision_; }
  /// Specs without layout: the two inputs, then the output, in the order of the table above,
  /// row-major bytes.
  std::vector<TensorSpec> tensors() const;

 private:
  ConvShape shape_;
  ConvDirection direction_;
  Precision precision_;
};

/// Why no backend computes this problem in its precision; nothing where one may.
std::optional<std::string> why_not_precision(const ConvProblem& problem);

/// Operations of Winograd's F(tile x tile, kh x kw) in each direction: the products in the
/// transformed domain and their additions; the transforms themselves are left out. 0 where this is
/// unknown: the tile is not given, or the shape is none that Winograd computes.
double winograd_flops(const ConvProblem& problem, int tile);

/// fp64 values of single outputs, bounds by reduction length, precision and algorithm
/// (docs/method.md).
std::unique_ptr<Oracle> conv_oracle(const ConvProblem& problem);

}  // namespace assay
