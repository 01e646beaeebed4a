#include "kernels/conv.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "kernels/conv_geometry.hpp"

namespace assay {
namespace {

TensorSpec plain(const char* name, Role role, DataType type, std::vector<std::int64_t> dims) {
  TensorSpec spec;
  spec.name = name;
  spec.role = role;
  spec.type = type;
  spec.dims = std::move(dims);
  spec.bytes = static_cast<std::size_t>(spec.elements()) * size_of(type);
  return spec;
}

bool has_depth(const ConvShape& s) {
  return s.id != 1 || s.od != 1 || s.kd != 1 || s.sd != 1 || s.dd != 0 || s.pd != 0 || s.pd_r != 0;
}

std::vector<std::int64_t> with_depth(bool there, std::vector<std::int64_t> dims, std::size_t at,
                                     std::int64_t extent) {
  if (there) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), extent);
  return dims;
}

}  // namespace

ConvProblem::ConvProblem(const ConvShape& shape, ConvDirection direction, Precision precision)
    : shape_(shape), direction_(direction), precision_(precision) {
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
  return 2.0 * static_cast<double>(s.mb * s.oc * convolution::outputs(s)) *
         static_cast<double>(s.ic / s.g * convolution::taps(s));
}

double ConvProblem::bytes() const {
  double sum = 0;
  for (const TensorSpec& tensor : tensors()) sum += static_cast<double>(tensor.bytes);
  return sum;
}

std::vector<TensorSpec> ConvProblem::tensors() const {
  const ConvShape& s = shape_;
  const bool deep = has_depth(s), integer = precision_ == Precision::int8;
  const auto src = with_depth(deep, {s.mb, s.ic, s.ih, s.iw}, 2, s.id);
  const auto weights = with_depth(deep, {s.g, s.oc / s.g, s.ic / s.g, s.kh, s.kw}, 3, s.kd);
  const auto dst = with_depth(deep, {s.mb, s.oc, s.oh, s.ow}, 2, s.od);
  const DataType type = integer ? DataType::u8 : data_type(name(precision_));
  const DataType weight_type = integer ? DataType::s8 : type,
                 out_type = integer ? DataType::s32 : type;
  switch (direction_) {
    case ConvDirection::forward:
      return {plain("src", Role::input, type, src),
              plain("weights", Role::input, weight_type, weights),
              plain("dst", Role::output, out_type, dst)};
    case ConvDirection::bwd_data:
      return {plain("diff_dst", Role::input, type, dst),
              plain("weights", Role::input, weight_type, weights),
              plain("diff_src", Role::output, out_type, src)};
    case ConvDirection::bwd_weights:
      return {plain("src", Role::input, type, src), plain("diff_dst", Role::input, type, dst),
              plain("diff_weights", Role::output, out_type, weights)};
  }
  return {};
}

}  // namespace assay
