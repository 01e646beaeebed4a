#include "kernels/cuda/conv_form.hpp"

#include <fmt/format.h>

#include <climits>

#include "core/api/layout.hpp"
#include "kernels/norm/given_sums.hpp"

namespace assay::cuda {
namespace {

constexpr std::int64_t channels_of_vector = 4;  // of CUDNN_DATA_INT8x4
constexpr const char* vector_layout = "nchw_vect_c4";

cudnnDataType_t to_data_type(DataType type, bool vectors) {
  return vectors && type == DataType::s8 ? CUDNN_DATA_INT8x4 : cudnn_type(type);
}

/// A layout with dimension `channel` innermost, in blocks of `block` (a block of its whole extent:
/// channels last). The later dimensions are around it, and the earlier ones outermost.
std::shared_ptr<const Layout> channels_inside(const TensorSpec& spec, std::size_t channel,
                                              std::int64_t block) {
  Layout layout{std::vector<Split>(spec.dims.size()), spec.elements()};
  std::int64_t stride = block;
  for (std::size_t d = spec.dims.size(); d-- > channel + 1;) {
    layout.splits[d] = {1, stride, 0};
    stride *= spec.dims[d];
  }
  layout.splits[channel] = {block, stride, 1};
  stride *= spec.dims[channel] / block;
  for (std::size_t d = channel; d-- > 0;) {
    layout.splits[d] = {1, stride, 0};
    stride *= spec.dims[d];
  }
  return std::make_shared<const Layout>(std::move(layout));
}

/// One spatial axis of a problem.
struct AxisOf {
  const char* name;
  std::int64_t in, out, taps, stride, dilation, pad;
};
std::vector<AxisOf> list_axes(const ConvShape& s, bool deep) {
  std::vector<AxisOf> axes{{"h", s.ih, s.oh, s.kh, s.sh, s.dh, s.ph},
                           {"w", s.iw, s.ow, s.kw, s.sw, s.dw, s.pw}};
  if (deep) axes.insert(axes.begin(), {"d", s.id, s.od, s.kd, s.sd, s.dd, s.pd});
  return axes;
}

std::string why_not_shape(const ConvProblem& problem, const std::vector<TensorSpec>& specs) {
  const ConvParts parts = conv_parts(problem.direction());
  for (const TensorSpec& spec : specs)
    if (spec.elements() > INT_MAX)
      return fmt::format(
          "cuDNN's descriptors hold up to {} elements ('{}' has {}). Use a smaller batch.", INT_MAX,
          spec.name, spec.elements());
  for (const AxisOf& a : list_axes(problem.shape(), specs[parts.x].dims.size() == 5)) {
    const std::int64_t out =
        (a.in + 2 * a.pad - ((a.taps - 1) * (a.dilation + 1) + 1)) / a.stride + 1;
    if (out != a.out)
      return fmt::format(
          "cuDNN pads both sides of a dimension alike (with p{0}{1} it gives o{0}{2}, not "
          "o{0}{3}). "
          "Use another backend.",
          a.name, a.pad, out, a.out);
  }
  return "";
}

}  // namespace

ConvParts conv_parts(ConvDirection direction) {
  switch (direction) {
    case ConvDirection::forward:
      return {0, 1, 2};
    case ConvDirection::bwd_data:
      return {2, 1, 0};
    case ConvDirection::bwd_weights:
      break;
  }
  return {0, 2, 1};
}

Result<ConvForm> conv_form(const ConvProblem& problem, const std::string& layout) {
  const Precision precision = problem.precision();
  const bool integers = precision == Precision::int8;
  if (layout != "any" && layout != "nchw" && layout != "nhwc")
    return Unsupported{fmt::format("cuda has no layout {}. Use any, nchw, nhwc or {}.", layout,
                                   plain_weights_layout)};
  if (const auto why = why_not_precision(problem)) return Unsupported{*why};
  ConvForm form;
  form.specs = problem.tensors();
  if (const std::string why = why_not_shape(problem, form.specs); !why.empty())
    return Unsupported{why};
  const ConvParts parts = conv_parts(problem.direction());

  // Tensor cores take channels last; the kernels of fused multiply-adds use nchw.
  const bool vector_units = precision == Precision::fp32 || precision == Precision::fp64;
  form.layout = layout != "any" ? layout : vector_units ? "nchw" : "nhwc";
  if (integers && form.layout == "nchw") form.layout = vector_layout;
  if (form.layout == vector_layout) {
    const ConvShape& s = problem.shape();
    if (s.g != 1 || s.ic % channels_of_vector != 0)
      return Unsupported{
          fmt::format("cuDNN has int8 in nchw in vectors of {} channels alone (g {}, ic {}). Use "
                      "--layout nhwc.",
                      channels_of_vector, s.g, s.ic)};
  }
  if (integers) {
    // cuDNN multiplies signed bytes by signed bytes, and returns 32-bit sums as fp32.
    form.specs[parts.x].type = DataType::s8;
    form.specs[parts.y].type = DataType::fp32;
  }
  for (std::size_t i = 0; i < form.specs.size(); ++i) {
    TensorSpec& spec = form.specs[i];
    const std::size_t channel = i == parts.w ? 2 : 1;  // [g, oc/g, ic/g, …] and [n, c, …]
    if (form.layout == "nhwc")
      spec.layout = channels_inside(spec, channel, spec.dims[channel]);
    else if (form.layout == vector_layout && i != parts.y)
      spec.layout = channels_inside(spec, channel, channels_of_vector);
    spec.bytes = static_cast<std::size_t>(spec.elements()) * size_of(spec.type);
  }

  form.arithmetic = choose_arithmetic(precision);
  return form;
}

ConvForm add_normalization(ConvForm form, NormFusion fusion) {
  const TensorSpec& dst = form.specs[conv_parts(ConvDirection::forward).y];
  const DataType of_channels = dst.type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
  std::vector<TensorSpec> more;
  for (const char* name : {"mean", "factor", "shift"})
    more.push_back(plain_tensor(name, Role::input, of_channels, {1, dst.dims[1], 1, 1}));
  if (fusion == NormFusion::add_relu) {
    more.push_back(dst);
    more.back().name = "addend";
    more.back().role = Role::input;
  }
  form.specs.insert(form.specs.end(), more.begin(), more.end());
  form.normalization = fusion;
  return form;
}

ConvForm add_sums(ConvForm form) {
  const std::int64_t channels = form.specs[conv_parts(ConvDirection::forward).y].dims[1];
  for (const char* name : norm_sums_arguments)
    form.specs.push_back(plain_tensor(name, Role::workspace, DataType::fp32, {1, channels, 1, 1}));
  form.sums = true;
  return form;
}

ConvAxes conv_axes(const ConvShape& shape, bool deep) {
  ConvAxes axes;
  for (const AxisOf& a : list_axes(shape, deep)) {
    axes.pads.push_back(a.pad);
    axes.strides.push_back(a.stride);
    axes.dilations.push_back(a.dilation + 1);
  }
  return axes;
}

std::vector<std::int64_t> filter_dims(const TensorSpec& filter) {
  std::vector<std::int64_t> dims(filter.dims.begin() + 1, filter.dims.end());
  dims[0] *= filter.dims[0];
  return dims;
}

cudnnDataType_t type_of_sums(Precision precision) {
  if (precision == Precision::int8) return CUDNN_DATA_INT32;
  // fp16, bf16 and tf32 are summed in fp32, as in mixed-precision training.
  return precision == Precision::fp64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

ConvDescriptors::ConvDescriptors(const ConvProblem& problem, const ConvForm& form) {
  const ConvParts parts = conv_parts(problem.direction());
  const ConvShape& s = problem.shape();
  const bool vectors = form.layout == vector_layout;
  const auto ints = [](const std::vector<std::int64_t>& dims) {
    return std::vector<int>(dims.begin(), dims.end());
  };
  const auto set = [&](const TensorDescriptor& descriptor, std::size_t part) {
    const TensorSpec& spec = form.specs[part];
    const std::vector<int> dims = ints(spec.dims);
    const cudnnTensorFormat_t format = form.layout == "nhwc"        ? CUDNN_TENSOR_NHWC
                                       : vectors && part != parts.y ? CUDNN_TENSOR_NCHW_VECT_C
                                                                    : CUDNN_TENSOR_NCHW;
    check(cudnnSetTensorNdDescriptorEx(descriptor.get(), format, to_data_type(spec.type, vectors),
                                       static_cast<int>(dims.size()), dims.data()),
          fmt::format("describing '{}' to cuDNN", spec.name));
  };
  set(x, parts.x);
  set(y, parts.y);

  const TensorSpec& filter = form.specs[parts.w];
  const std::vector<int> dims = ints(filter_dims(filter));
  check(cudnnSetFilterNdDescriptor(w.get(), to_data_type(filter.type, vectors),
                                   form.layout == "nhwc" ? CUDNN_TENSOR_NHWC
                                   : vectors             ? CUDNN_TENSOR_NCHW_VECT_C
                                                         : CUDNN_TENSOR_NCHW,
                                   static_cast<int>(dims.size()), dims.data()),
        fmt::format("describing '{}' to cuDNN", filter.name));

  const ConvAxes axes = conv_axes(s, dims.size() == 5);
  check(cudnnSetConvolutionNdDescriptor(convolution.get(), static_cast<int>(axes.pads.size()),
                                        ints(axes.pads).data(), ints(axes.strides).data(),
                                        ints(axes.dilations).data(), CUDNN_CROSS_CORRELATION,
                                        type_of_sums(problem.precision())),
        "describing the convolution to cuDNN");
  check(cudnnSetConvolutionGroupCount(convolution.get(), static_cast<int>(s.g)),
        "telling cuDNN the groups");
  check(cudnnSetConvolutionMathType(convolution.get(), form.arithmetic.math),
        "telling cuDNN the arithmetic");
}

}  // namespace assay::cuda
