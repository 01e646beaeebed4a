#pragma once
// Convolution, as deep-learning libraries define it (a cross-correlation):
//   dst[n,o,y,x] = sum over c, i, j of
//                  src[n, c, y*sh + i*(dh+1) - ph, x*sw + j*(dw+1) - pw] * weights[o,c,i,j]
// where elements outside src are 0.
//
// Logical layouts (row-major):
//   src [mb, ic, ih, iw], weights [g, oc/g, ic/g, kh, kw], dst [mb, oc, oh, ow]
// 3-D convolutions have the depth before the height (src [mb, ic, id, ih, iw]). A gradient has its
// tensor's layout and the prefix diff_. Tensor names:
//   forward      src, weights      -> dst
//   bwd_data     diff_dst, weights -> diff_src
//   bwd_weights  src, diff_dst     -> diff_weights

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/problem_version/conv.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"
#include "core/base/name_table.hpp"

namespace assay {

/// Extents, by benchdnn's names: g groups, mb batch, ic and oc channels, i* input, o* output, k*
/// kernel, s* stride, d* dilation (0: dense), p* padding before, p*_r padding after the input; the
/// second letter is d for depth, h for height, w for width. A 2-D convolution has the depth 1.
struct ConvShape {
  std::int64_t g = 1, mb = 2, ic = 0, id = 1, ih = 0, iw = 0, oc = 0, od = 1, oh = 0, ow = 0,
               kd = 1, kh = 0, kw = 0;
  std::int64_t sd = 1, sh = 1, sw = 1, dd = 0, dh = 0, dw = 0;
  std::int64_t pd = 0, ph = 0, pw = 0, pd_r = 0, ph_r = 0, pw_r = 0;
  bool operator==(const ConvShape&) const = default;
};

/// Parses benchdnn's descriptor "g1mb16ic64ih112oc128oh112kh3ph1". Missing fields get benchdnn's
/// defaults: mb 2, g 1, strides 1, the output size from input and padding, the padding from input
/// and output size, the width from the height, height and width from the depth. Padding after the
/// input (p*_r) always follows from the output size. A name at the end ("_n<name>" or n"name") is
/// ignored. InputError names the field that is unknown, given twice, zero, negative or over 64
/// bits, groups that do not divide the channels, and an impossible output size. Unlike benchdnn, it
/// refuses output sizes for which a window would lie completely in padding that was not given.
ConvShape parse_conv(const std::string& descriptor);
/// The normalised descriptor: [g] mb ic ih [iw] oc oh [ow] kh [kw] [sh..] [dh..] [ph..]. It omits
/// widths, strides, dilations and padding that parse_conv derives:
/// parse_conv(to_descriptor(s)) == s.
std::string to_descriptor(const ConvShape& shape);

/// The value of the setting "layout" with which a convolution runs as a layer of a network:
/// activations have their channels innermost (nhwc), and weights are row-major, because an
/// optimizer updates them after each step. If an operation needs packed weights, it packs them in
/// each run, and that is timed. With other values of "layout" a backend packs weights once,
/// untimed.
inline constexpr const char* plain_weights_layout = "nhwc_oihw";

enum class ConvDirection { forward, bwd_data, bwd_weights };
const NameTable<ConvDirection>& get_name_table(ConvDirection);

class ConvProblem final : public ShapedProblem<ConvProblem, ConvShape> {
 public:
  static constexpr const char* kind_name = "conv";
  static constexpr const char* kind_version = problem_version::conv;
  ConvProblem(const ConvShape& shape, ConvDirection direction, Precision precision);
  std::string canonical() const override;
  nlohmann::json json() const override;
  /// 2 * mb * oc * od*oh*ow * ic/g * kd*kh*kw: the usual count, which includes products with
  /// padding.
  double flops() const override;

  ConvDirection direction() const { return direction_; }
  /// Specs in row-major order: the two inputs, then the output, in the order of the table above.
  std::vector<TensorSpec> tensors() const;

 private:
  ConvDirection direction_;
};

/// The reason why this problem does not exist in its precision; nothing if it does.
std::optional<std::string> why_not_precision(const ConvProblem& problem);

/// Operations of Winograd's F(tile x tile, kh x kw) (A. Lavin and S. Gray, Fast Algorithms for
/// Convolutional Neural Networks, arXiv:1509.09308): products in the transformed domain and their
/// additions, without the transforms. 0 if they are unknown, because the tile is not given or
/// Winograd cannot compute the shape.
double count_winograd_flops(const ConvProblem& problem, int tile);

/// Expected values of single output elements in fp64, and error bounds, which depend on the number
/// of products, the precision and the algorithm (docs/method-conv.md).
std::unique_ptr<Oracle> make_conv_oracle(const ConvProblem& problem);

}  // namespace assay
