// oneDNN's convolution primitives.

#include "kernels/conv/problem.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <optional>

#include "core/base/name_table.hpp"
#include "kernels/conv/inside.hpp"
#include "kernels/onednn/backend.hpp"
#include "kernels/onednn/device.hpp"
#include "kernels/onednn/implementation.hpp"

namespace assay::onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;

/// The request for the primitive, and the library's choice.
struct ConvChoice {
  dnnl::primitive primitive;
  std::string implementation;
  memory::desc tensors[3];  ///< in the order of ConvProblem::tensors()
  memory::desc scratchpad;
};

/// Dimensions without a group dimension of 1: oneDNN then finds more implementations.
memory::dims make_dims(const TensorSpec& spec, bool weights, bool grouped) {
  memory::dims dims(spec.dims.begin(), spec.dims.end());
  if (weights && !grouped) dims.erase(dims.begin());
  return dims;
}

/// The 1x1 kernels have a fault: if they read a source of channels-last layout with a stride, they
/// copy it to a workspace of whole blocks of channels, and write past its end if there are fewer
/// channels (oneDNN's issue 6035: https://github.com/uxlfoundation/oneDNN/issues/6035).
bool writes_past_workspace(const dnnl::convolution_backward_weights::primitive_desc& backward,
                           const ConvShape& shape) {
  constexpr std::int64_t widest_block = 16;
  return shape.ic / shape.g < widest_block && (shape.sd > 1 || shape.sh > 1 || shape.sw > 1) &&
         std::string(backward.impl_info_str()).find("jit_1x1") != std::string::npos &&
         backward.src_desc().get_inner_nblks() == 0 && backward.src_desc().get_strides()[1] == 1;
}

/// Takes the next implementation that is not known to be incorrect.
void leave_out_wrong(dnnl::convolution_backward_weights::primitive_desc& backward,
                     const ConvShape& shape) {
  while (writes_past_workspace(backward, shape))
    if (!backward.next_impl())
      throw dnnl::error(dnnl_unimplemented, "oneDNN has only a kernel that computes wrong results");
}

/// A convolution in the library's terms.
struct ConvDescription {
  memory::desc src, weights, dst;
  /// The weights of the forward pass, in the type of its activations: the library requires them as
  /// a hint.
  memory::desc forward_weights;
  memory::dims strides, dilation, left, right;
};

/// `layout` is that of the activations; weights are laid out once and stay the library's choice.
ConvDescription describe(const ConvProblem& problem, const std::string& layout) {
  const ConvShape& s = problem.shape();
  const std::vector<TensorSpec> specs = problem.tensors();
  const bool deep = specs[0].dims.size() == 5, grouped = s.g > 1;
  const auto direction = problem.direction();
  const std::size_t src = direction == ConvDirection::bwd_data ? 2 : 0,
                    dst = direction == ConvDirection::forward    ? 2
                          : direction == ConvDirection::bwd_data ? 0
                                                                 : 1,
                    weights = direction == ConvDirection::bwd_weights ? 2 : 1;
  using tag = memory::format_tag;
  const tag activations = layout == "nchw"  ? (deep ? tag::ncdhw : tag::nchw)
                          : layout != "any" ? (deep ? tag::ndhwc : tag::nhwc)
                                            : tag::any;
  const auto desc = [&](std::size_t i, tag format, DataType type) {
    return memory::desc(make_dims(specs[i], i == weights, grouped), to_data_type(type), format);
  };
  const DataType forward_type =
      is_mixed(problem.precision()) ? specs[src].type : specs[weights].type;
  const auto spatial = [&](std::int64_t d, std::int64_t h, std::int64_t w) {
    return deep ? memory::dims{d, h, w} : memory::dims{h, w};
  };
  return {.src = desc(src, activations, specs[src].type),
          .weights = desc(weights, tag::any, specs[weights].type),
          .dst = desc(dst, activations, specs[dst].type),
          .forward_weights = desc(weights, tag::any, forward_type),
          .strides = spatial(s.sd, s.sh, s.sw),
          .dilation = spatial(s.dd, s.dh, s.dw),
          .left = spatial(s.pd, s.ph, s.pw),
          .right = spatial(s.pd_r, s.ph_r, s.pw_r)};
}

ConvChoice choose(const ConvProblem& problem, const dnnl::engine& engine, algorithm how,
                  const std::string& layout) {
  const auto [src, weights, dst, forward_weights, strides, dilation, left, right] =
      describe(problem, layout);
  dnnl::primitive_attr attributes;
  // ONEDNN_DEFAULT_FPMATH_MODE could make oneDNN compute fp32 in bf16 or tf32; strict mode prevents
  // that.
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);

  // forward is the pass of training, because the backward passes belong to it; integers have
  // inference alone.
  const auto kind = problem.precision() == Precision::int8 ? dnnl::prop_kind::forward_inference
                                                           : dnnl::prop_kind::forward_training;
  const dnnl::convolution_forward::primitive_desc forward(
      engine, kind, how, src, forward_weights, dst, strides, dilation, left, right, attributes);
  switch (problem.direction()) {
    case ConvDirection::forward:
      return {dnnl::convolution_forward(forward),
              forward.impl_info_str(),
              {forward.src_desc(), forward.weights_desc(), forward.dst_desc()},
              forward.scratchpad_desc()};
    case ConvDirection::bwd_data: {
      const dnnl::convolution_backward_data::primitive_desc backward(
          engine, how, src, weights, dst, strides, dilation, left, right, forward, attributes);
      return {dnnl::convolution_backward_data(backward),
              backward.impl_info_str(),
              {backward.diff_dst_desc(), backward.weights_desc(), backward.diff_src_desc()},
              backward.scratchpad_desc()};
    }
    case ConvDirection::bwd_weights: {
      dnnl::convolution_backward_weights::primitive_desc backward(
          engine, how, src, weights, dst, strides, dilation, left, right, forward, attributes);
      leave_out_wrong(backward, problem.shape());
      return {dnnl::convolution_backward_weights(backward),
              backward.impl_info_str(),
              {backward.src_desc(), backward.diff_dst_desc(), backward.diff_weights_desc()},
              backward.scratchpad_desc()};
    }
  }
  throw std::logic_error("conv: no such direction");
}

/// m of F(m x m, r x r) in "jit_wino_4x3:avx512_core"; 0 where the name does not say.
int winograd_tile(const std::string& implementation) {
  const std::size_t at = implementation.find("wino_");
  if (at == std::string::npos || at + 7 >= implementation.size() || implementation[at + 6] != 'x')
    return 0;
  const char digit = implementation[at + 5];
  return std::isdigit(static_cast<unsigned char>(digit)) != 0 ? digit - '0' : 0;
}

constexpr std::size_t find_weights(ConvDirection direction) {
  return direction == ConvDirection::bwd_weights ? 2 : 1;
}

/// Reorders plain weights to the primitive's layout, or back, in every run.
class Packing {
 public:
  Packing(const memory::desc& packed, bool pack, const dnnl::engine& engine) : pack_(pack) {
    const memory::desc from = pack ? plain(packed) : packed, to = pack ? packed : plain(packed);
    reorder_ = dnnl::reorder(dnnl::reorder::primitive_desc(engine, from, engine, to));
    arguments_.add(DNNL_ARG_FROM, from, engine);
    arguments_.add(DNNL_ARG_TO, to, engine);
  }
  void bind(Tensor& original, Tensor& packed) {
    const std::array<Tensor*, 2> both{pack_ ? &original : &packed, pack_ ? &packed : &original};
    arguments_.bind(both);
  }
  bool before() const { return pack_; }
  void run(Stream& stream) const {
    execute(reorder_, stream, arguments_.call(), "packing of weights");
  }

 private:
  bool pack_;
  dnnl::primitive reorder_;
  Arguments arguments_;
};

class Convolution final : public BoundOperation {
 public:
  Convolution(const ConvProblem& problem, ConvChoice chosen, const dnnl::engine& engine,
              const Options& options)
      : BoundOperation(problem.tensors()),
        primitive_(std::move(chosen.primitive)),
        direction_(problem.direction()),
        threads_(set_threads(engine, options)) {
    static constexpr int argument_ids[3][3] = {
        {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
        {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
        {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS}};
    static_assert(!is_enumerator<static_cast<ConvDirection>(std::size(argument_ids))>());
    const std::size_t weights = find_weights(problem.direction());
    const memory::desc& packed = chosen.tensors[weights];
    if (options.get("layout", "any") == plain_weights_layout && packed != plain(packed))
      packing_.emplace(packed, problem.direction() != ConvDirection::bwd_weights, engine);
    for (std::size_t i = 0; i < 3; ++i) {
      if (!packing_ || i != weights) lay_out(arguments_[i], chosen.tensors[i]);
      execution_.layout += fmt::format("{}{}={}", i == 0 ? "" : " ", arguments_[i].name,
                                       layout_name(chosen.tensors[i]));
      bound_.add(argument_ids[static_cast<std::size_t>(problem.direction())][i], chosen.tensors[i],
                 engine);
    }
    execution_.workspace_bytes = chosen.scratchpad.get_size();
    add_scratchpad(chosen.scratchpad, engine, arguments_, bound_);
    if (packing_) {
      arguments_.push_back(bytes_tensor("packed_weights", Role::workspace, packed.get_size()));
      execution_.workspace_bytes += packed.get_size();
    }
    const bool winograd = chosen.implementation.find("wino") != std::string::npos;
    execution_.algorithm = winograd ? "winograd" : "direct";
    execution_.implementation = chosen.implementation;
    execution_.storage = std::string(name(problem.precision()));
    execution_.compute =
        compute_type(format(problem.precision()).arithmetic, chosen.implementation, threads_ == 0);
    // Documented for every implementation (Developer Guide, "Primitive Attributes: accumulation
    // mode": the default is strict, f32 for floating point, s32 for integers).
    execution_.accumulate =
        std::string(name(problem.precision() == Precision::int8 ? DataType::s32 : DataType::fp32));
    execution_.evidence = "library";
    execution_.algorithmic_flops = flops_inside(problem);
    if (winograd) {
      const int tile = winograd_tile(chosen.implementation);
      if (tile > 0) execution_.tile = tile;
      execution_.algorithmic_flops = count_winograd_flops(problem, tile);
    }
  }

  void bind(std::span<Tensor* const> tensors) override {
    std::vector<Tensor*> in_call(tensors.begin(), tensors.end());
    if (packing_) {
      Tensor*& weights = in_call[find_weights(direction_)];
      packing_->bind(*weights, *tensors.back());
      weights = tensors.back();
    }
    bound_.bind(in_call);
    set_threads(threads_);
  }

  void run(Stream& stream) override {
    if (packing_ && packing_->before()) packing_->run(stream);
    execute(primitive_, stream, bound_.call(), "convolution");
    if (packing_ && !packing_->before()) packing_->run(stream);
  }

 private:
  dnnl::primitive primitive_;
  ConvDirection direction_;
  int threads_;
  std::optional<Packing> packing_;  ///< weights that are passed in plain layout
  Arguments bound_;
};

Result<std::unique_ptr<Operation>> make_conv(Device& device, const Problem& problem,
                                             const Options& options, Communicator&) {
  const ConvProblem& conv = problem_cast<ConvProblem>(problem);
  auto& place = static_cast<OneDnnDevice&>(device);
  const std::string wanted = options.get("algorithm", "auto"),
                    layout = options.get("layout", "any");
  const std::string request =
      fmt::format("{} convolution, {}, {}, {}, layout {}", wanted, name(conv.direction()),
                  name(conv.precision()), conv.canonical(), layout);
  algorithm how = algorithm::convolution_auto;
  if (wanted == "direct")
    how = algorithm::convolution_direct;
  else if (wanted == "winograd")
    how = algorithm::convolution_winograd;
  else if (wanted != "auto")
    return Unsupported{
        fmt::format("onednn has no {} (its algorithms are auto, direct, winograd)", request)};
  if (layout != "any" && layout != "nchw" && layout != "nhwc" && layout != plain_weights_layout)
    return Unsupported{fmt::format("onednn has no layout {}. Use any, nchw, nhwc or {}.", layout,
                                   plain_weights_layout)};
  if (conv.precision() == Precision::fp64 || conv.precision() == Precision::tf32)
    return Unsupported{
        fmt::format("onednn has no {} convolution ({})", name(conv.precision()), request)};
  if (const auto why = why_not_precision(conv)) return Unsupported{*why};

  const int threads = set_threads(place.engine(), options);
  try {
    auto operation = std::make_unique<Convolution>(conv, choose(conv, place.engine(), how, layout),
                                                   place.engine(), options);
    if (const Execution ran = operation->execution(); wanted != "auto" && ran.algorithm != wanted)
      return Unsupported{
          fmt::format("onednn would run {} ({}) where {} was asked for ({}). Ask for auto or {}.",
                      ran.algorithm, ran.implementation, wanted, request, ran.algorithm)};
    if (const std::string why =
            threads == 0
                ? ""
                : why_not_reference(operation->execution().implementation, conv.flops(), threads);
        !why.empty())
      return Unsupported{fmt::format("{} ({})", why, request)};
    return operation;
  } catch (const dnnl::error& error) {
    return refusal(error, fmt::format("a {} (", request), request);
  }
}

const Maker add_conv{makers(), problem_kind<ConvProblem>(), &make_conv, {"direct", "winograd"}};

}  // namespace
}  // namespace assay::onednn
