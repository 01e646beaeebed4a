#include "kernels/conv/problem.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "kernels/conv/geometry.hpp"

namespace assay {
namespace {

bool has_depth(const ConvShape& s) {
  return s.id != 1 || s.od != 1 || s.kd != 1 || s.sd != 1 || s.dd != 0 || s.pd != 0 || s.pd_r != 0;
}

std::vector<std::int64_t> with_depth(bool there, std::vector<std::int64_t> dims, std::size_t at,
                                     std::int64_t extent) {
  if (there) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), extent);
  return dims;
}

}  // namespace

const NameTable<ConvDirection>& get_name_table(ConvDirection) {
  static const NameTable<ConvDirection> table({"forward", "bwd_data", "bwd_weights"}, "direction");
  return table;
}

std::optional<std::string> why_not_precision(const ConvProblem& problem) {
  if (is_fp8(problem.precision()))
    return fmt::format(
        "convolution has no {} (matrix multiplication alone has it). Use bf16 or fp16.",
        name(problem.precision()));
  if (is_mixed(problem.precision()) && problem.direction() != ConvDirection::bwd_weights)
    return fmt::format(
        "convolution has {} in direction bwd_weights alone (activations and their gradients have "
        "the type of what they are made of). Use {}.",
        name(problem.precision()), name(storage(problem.precision())));
  if (problem.precision() != Precision::int8 || problem.direction() == ConvDirection::forward)
    return std::nullopt;
  return "int8 convolution has only direction forward (gradients are not integers). Use another "
         "precision.";
}

double count_winograd_flops(const ConvProblem& problem, int tile) {
  const ConvShape& s = problem.shape();
  const bool plane = s.kd == 1 && s.sd == 1 && s.dd == 0 && s.pd == 0;  // depth is one more batch
  if (tile < 1 || !plane || s.sh != 1 || s.sw != 1 || s.dh != 0 || s.dw != 0) return 0;
  // Lavin & Gray, "Fast Algorithms for Convolutional Neural Networks" (arXiv:1509.09308), sections
  // 3 and 4: F(m x m, r x r) takes (m+r-1)^2 products for each tile of m x m outputs, and each pair
  // of channels. bwd_data is a convolution with diff_src as its output. bwd_weights is F(r x r, m x
  // m): tiles of m x m elements of diff_dst are the filters, and all products are summed before the
  // single inverse transform.
  const bool data = problem.direction() == ConvDirection::bwd_data;
  const auto products = [tile](std::int64_t extent, std::int64_t taps) {
    const std::int64_t tiles = (extent + tile - 1) / tile;
    return static_cast<double>(tiles) * static_cast<double>(tile + taps - 1);
  };
  const std::int64_t group = s.ic / s.g;  // g divides ic: exact
  const double pairs = static_cast<double>(s.oc) * static_cast<double>(group);
  return 2 * static_cast<double>(s.mb) * static_cast<double>(data ? s.id : s.od) * pairs *
         products(data ? s.ih : s.oh, s.kh) * products(data ? s.iw : s.ow, s.kw);
}

ConvProblem::ConvProblem(const ConvShape& shape, ConvDirection direction, Precision precision)
    : ShapedProblem(shape, precision), direction_(direction) {
  // A shape made by hand passes the same checks as a descriptor.
  const std::string text = to_descriptor(shape);
  if (!(parse_conv(text) == shape))
    throw InputError(
        fmt::format("conv shape {}: its right-hand padding does not follow from its output size. "
                    "Use parse_conv.",
                    text));
}

std::string ConvProblem::canonical() const { return to_descriptor(shape_); }

nlohmann::json ConvProblem::json() const {
  const ConvShape& s = shape_;
  nlohmann::json out{{"g", s.g},   {"mb", s.mb},     {"ic", s.ic},    {"ih", s.ih}, {"iw", s.iw},
                     {"oc", s.oc}, {"oh", s.oh},     {"ow", s.ow},    {"kh", s.kh}, {"kw", s.kw},
                     {"sh", s.sh}, {"sw", s.sw},     {"dh", s.dh},    {"dw", s.dw}, {"ph", s.ph},
                     {"pw", s.pw}, {"ph_r", s.ph_r}, {"pw_r", s.pw_r}};
  if (has_depth(s))
    out.update({{"id", s.id},
                {"od", s.od},
                {"kd", s.kd},
                {"sd", s.sd},
                {"dd", s.dd},
                {"pd", s.pd},
                {"pd_r", s.pd_r}});
  return out;
}

double ConvProblem::flops() const {
  const ConvShape& s = shape_;
  const std::int64_t reduction = s.ic / s.g * convolution::taps(s);  // g divides ic: exact
  return 2.0 * static_cast<double>(s.mb * s.oc * convolution::outputs(s)) *
         static_cast<double>(reduction);
}

std::vector<TensorSpec> ConvProblem::tensors() const {
  const ConvShape& s = shape_;
  const bool deep = has_depth(s);
  const auto src = with_depth(deep, {s.mb, s.ic, s.ih, s.iw}, 2, s.id);
  const auto weights = with_depth(deep, {s.g, s.oc / s.g, s.ic / s.g, s.kh, s.kw}, 3, s.kd);
  const auto dst = with_depth(deep, {s.mb, s.oc, s.oh, s.ow}, 2, s.od);
  const DataType type = storage(precision_);
  const DataType weight_type = assay::weight_type(precision_), out_type = format(precision_).output;
  switch (direction_) {
    case ConvDirection::forward:
      return {plain_tensor("src", Role::input, type, src),
              plain_tensor("weights", Role::input, weight_type, weights),
              plain_tensor("dst", Role::output, out_type, dst)};
    case ConvDirection::bwd_data:
      return {plain_tensor("diff_dst", Role::input, type, dst),
              plain_tensor("weights", Role::input, weight_type, weights),
              plain_tensor("diff_src", Role::output, out_type, src)};
    case ConvDirection::bwd_weights:
      return {plain_tensor("src", Role::input, type, src),
              plain_tensor("diff_dst", Role::input, type, dst),
              plain_tensor("diff_weights", Role::output, out_type, weights)};
  }
  return {};
}

}  // namespace assay
