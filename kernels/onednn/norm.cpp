// oneDNN's batch normalization. Its own fusion with a rectifier saves what passed the rectifier in
// a private layout, for a backward pass of the same library. Here a backward pass reads dst, which
// any library may have computed. So the rectifier and the addition are separate primitives.

#include "kernels/norm/problem.hpp"

#include <fmt/format.h>

#include "core/api/layout.hpp"
#include "kernels/onednn/in_layout.hpp"

namespace assay::onednn {
namespace {

using dnnl::memory;
using Flags = dnnl::normalization_flags;

class Normalization final : public BoundOperation {
 public:
  Normalization(const NormProblem& problem, const std::string& layout, const dnnl::engine& engine,
                int threads)
      : BoundOperation(problem.tensors()), problem_(problem), engine_(engine), threads_(threads) {
    if (layout == "nhwc") lay_channels_last(arguments_);
    execution_.algorithm = "direct";
    execution_.storage = std::string(name(problem.precision()));
    execution_.compute = execution_.accumulate = std::string(name(DataType::fp32));
    execution_.layout = layout;
    execution_.evidence = "library";
    problem.direction() == NormDirection::backward ? plan_backward() : plan_forward();
  }

  void bind(std::span<Tensor* const> tensors) override {
    for (Part& part : parts_) {
      std::vector<Tensor*> of_part;
      for (const std::size_t argument : part.tensors) of_part.push_back(tensors[argument]);
      part.arguments.bind(of_part);
    }
    set_threads(threads_);
  }

  void run(Stream& stream) override {
    for (const Part& part : parts_)
      execute(part.primitive, stream, part.arguments.call(), "batch normalization");
  }

 private:
  /// A primitive, and which of the operation's tensors are its arguments.
  struct Part {
    dnnl::primitive primitive;
    Arguments arguments;
    std::vector<std::size_t> tensors;
  };
  struct Use {
    int id;
    const char* tensor;
  };

  std::size_t index(std::string_view name) const {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      if (arguments_[i].name == name) return i;
    throw std::logic_error(fmt::format("norm: no argument {}", name));
  }
  memory::desc desc(const char* name) const { return make_desc(arguments_[index(name)]); }

  template <class Description>
  void add(const Description& description, dnnl::primitive primitive,
           std::initializer_list<Use> uses) {
    Part part{std::move(primitive), {}, {}};
    for (const Use& use : uses) {
      part.tensors.push_back(index(use.tensor));
      part.arguments.add(use.id, desc(use.tensor), engine_);
    }
    if (const memory::desc scratch = description.scratchpad_desc(); scratch.get_size() > 0) {
      part.tensors.push_back(arguments_.size());
      add_scratchpad(scratch, engine_, arguments_, part.arguments);
      execution_.workspace_bytes += scratch.get_size();
    }
    execution_.implementation +=
        fmt::format("{}{}", parts_.empty() ? "" : " + ", description.impl_info_str());
    parts_.push_back(std::move(part));
  }

  static dnnl::primitive_attr attributes() {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
  }

  dnnl::batch_normalization_forward::primitive_desc forward(Flags flags, bool fused) const {
    dnnl::primitive_attr with = attributes();
    if (fused) {
      dnnl::post_ops after;
      after.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
      with.set_post_ops(after);
    }
    const bool training = problem_.direction() != NormDirection::forward_inference;
    const memory::desc src = desc("src");
    return {engine_,
            training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference,
            src,
            src,
            static_cast<float>(norm_epsilon),
            flags,
            with};
  }

  void plan_forward() {
    const Flags affine = Flags::use_scale | Flags::use_shift;
    const bool training = problem_.direction() == NormDirection::forward_training;
    // In inference a rectifier is fused as a post-op, which saves nothing for a backward pass.
    const bool fused = !training && problem_.fusion() == NormFusion::relu;
    const auto chosen = forward(training ? affine : affine | Flags::use_global_stats, fused);
    add(chosen, dnnl::batch_normalization_forward(chosen),
        {{DNNL_ARG_SRC, "src"},
         {DNNL_ARG_SCALE, "scale"},
         {DNNL_ARG_SHIFT, "shift"},
         {DNNL_ARG_MEAN, "mean"},
         {DNNL_ARG_VARIANCE, "variance"},
         {DNNL_ARG_DST, "dst"}});
    const memory::desc dst = desc("dst");
    if (problem_.fusion() == NormFusion::relu && !fused) {
      const dnnl::eltwise_forward::primitive_desc relu(engine_, dnnl::prop_kind::forward_training,
                                                       dnnl::algorithm::eltwise_relu, dst, dst, 0.f,
                                                       0.f, attributes());
      add(relu, dnnl::eltwise_forward(relu), {{DNNL_ARG_SRC, "dst"}, {DNNL_ARG_DST, "dst"}});
    }
    if (problem_.fusion() != NormFusion::add_relu) return;
    dnnl::primitive_attr then = attributes();
    dnnl::post_ops after;
    after.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
    then.set_post_ops(after);
    const dnnl::binary::primitive_desc sum(engine_, dnnl::algorithm::binary_add, dst,
                                           desc("addend"), dst, then);
    add(sum, dnnl::binary(sum),
        {{DNNL_ARG_SRC_0, "dst"}, {DNNL_ARG_SRC_1, "addend"}, {DNNL_ARG_DST, "dst"}});
    execution_.operand_roundings = 1;  // dst is stored before the addition
  }

  void plan_backward() {
    const char* gradient = "diff_dst";
    if (problem_.fusion() != NormFusion::none) {
      // The gradient that has passed the rectifier is in diff_addend or, temporarily, in diff_src.
      gradient = problem_.fusion() == NormFusion::add_relu ? "diff_addend" : "diff_src";
      const memory::desc dst = desc("dst");
      const dnnl::eltwise_forward::primitive_desc hint(
          engine_, dnnl::prop_kind::forward_training, dnnl::algorithm::eltwise_relu_use_dst_for_bwd,
          dst, dst, 0.f, 0.f, attributes());
      const dnnl::eltwise_backward::primitive_desc relu(
          engine_, dnnl::algorithm::eltwise_relu_use_dst_for_bwd, dst, dst, dst, 0.f, 0.f, hint,
          attributes());
      add(relu, dnnl::eltwise_backward(relu),
          {{DNNL_ARG_DST, "dst"}, {DNNL_ARG_DIFF_DST, "diff_dst"}, {DNNL_ARG_DIFF_SRC, gradient}});
    }
    const memory::desc src = desc("src");
    const dnnl::batch_normalization_backward::primitive_desc chosen(
        engine_, dnnl::prop_kind::backward, src, src, src, static_cast<float>(norm_epsilon),
        Flags::use_scale | Flags::use_shift, forward(Flags::use_scale | Flags::use_shift, false),
        attributes());
    add(chosen, dnnl::batch_normalization_backward(chosen),
        {{DNNL_ARG_SRC, "src"},
         {DNNL_ARG_DIFF_DST, gradient},
         {DNNL_ARG_SCALE, "scale"},
         {DNNL_ARG_MEAN, "mean"},
         {DNNL_ARG_VARIANCE, "variance"},
         {DNNL_ARG_DIFF_SRC, "diff_src"},
         {DNNL_ARG_DIFF_SCALE, "diff_scale"},
         {DNNL_ARG_DIFF_SHIFT, "diff_shift"}});
  }

  NormProblem problem_;
  dnnl::engine engine_;
  int threads_;
  std::vector<Part> parts_;
};

Result<std::unique_ptr<Operation>> make_norm(Device& device, const Problem& problem,
                                             const Options& options, Communicator&) {
  return make_in_layout<NormProblem, Normalization>(device, problem, options,
                                                    "batch normalization");
}

const Maker add_norm{makers(), problem_kind<NormProblem>(), &make_norm, {"direct"}};

}  // namespace
}  // namespace assay::onednn
