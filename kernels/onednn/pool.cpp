// oneDNN's pooling primitives.

#include "kernels/pool/problem.hpp"

#include <optional>

#include "core/api/layout.hpp"
#include "kernels/onednn/in_layout.hpp"

namespace assay::onednn {
namespace {

using dnnl::memory;

class Pooling final : public BoundOperation {
 public:
  Pooling(const PoolProblem& problem, const std::string& layout, const dnnl::engine& engine,
          int threads)
      : BoundOperation(problem.tensors()), problem_(problem), engine_(engine), threads_(threads) {
    if (layout == "nhwc") lay_channels_last(arguments_);
    const bool backward = problem.direction() == PoolDirection::backward;
    execution_.algorithm = "direct";
    execution_.storage = std::string(name(problem.precision()));
    execution_.compute = execution_.accumulate = std::string(name(DataType::fp32));
    // oneDNN adds gradients of overlapping windows in memory, in the type of the tensor (version
    // 3.2).
    if (backward) execution_.accumulate = execution_.storage;
    execution_.layout = layout;
    execution_.evidence = "library";
    const dnnl::pooling_forward::primitive_desc forward = forward_desc();
    for (std::size_t i = 0; i < arguments_.size(); ++i) add(i);
    if (const memory::desc workspace = forward.workspace_desc(); workspace.get_size() > 0) {
      arguments_.push_back(bytes_tensor("workspace", Role::saved, 0));
      lay_out(arguments_.back(), workspace);
      uses_.push_back(arguments_.size() - 1);
      call_.add(DNNL_ARG_WORKSPACE, workspace, engine_);
    }
    if (backward) {
      plan_backward(forward);
    } else {
      finish(forward, dnnl::pooling_forward(forward));
    }
  }

  void bind(std::span<Tensor* const> tensors) override {
    std::vector<Tensor*> used;
    for (const std::size_t argument : uses_) used.push_back(tensors[argument]);
    call_.bind(used);
    if (forward_) {
      src_ = tensors[0]->data();
      saved_ = tensors[uses_[saved_use_]]->data();
    }
    set_threads(threads_);
  }

  /// The forward pass, which saves the places of the largest elements for the backward pass.
  void prologue(Stream&) override {
    if (!forward_) return;
    dnnl::stream stream(engine_);
    memory dst(forward_->dst_desc(), engine_), scratch(forward_->scratchpad_desc(), engine_);
    dnnl::pooling_forward(*forward_).execute(
        stream, {{DNNL_ARG_SRC, memory(forward_->src_desc(), engine_, src_)},
                 {DNNL_ARG_DST, dst},
                 {DNNL_ARG_WORKSPACE, memory(forward_->workspace_desc(), engine_, saved_)},
                 {DNNL_ARG_SCRATCHPAD, scratch}});
    stream.wait();
  }

  void run(Stream& stream) override { execute(primitive_, stream, call_.call(), "pooling"); }

 private:
  /// Adds an argument of the primitive; it does not take the src of a backward pass.
  void add(std::size_t i) {
    const std::string& name = arguments_[i].name;
    const bool backward = problem_.direction() == PoolDirection::backward;
    if (backward && name == "src") return;
    uses_.push_back(i);
    call_.add(name == "src"        ? DNNL_ARG_SRC
              : name == "dst"      ? DNNL_ARG_DST
              : name == "diff_dst" ? DNNL_ARG_DIFF_DST
                                   : DNNL_ARG_DIFF_SRC,
              make_desc(arguments_[i]), engine_);
  }

  dnnl::algorithm algorithm() const {
    return problem_.mode() == PoolMode::max ? dnnl::algorithm::pooling_max
                                            : dnnl::algorithm::pooling_avg_exclude_padding;
  }
  static dnnl::primitive_attr attributes() {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
  }
  /// The padding below and at the right that makes the last window whole.
  memory::dims padding_after() const {
    const PoolShape& s = problem_.shape();
    return {(s.oh - 1) * s.sh + s.kh - s.ih - s.ph, (s.ow - 1) * s.sw + s.kw - s.iw - s.pw};
  }

  /// src or its gradient is the first or the last of the problem's tensors, and dst or its gradient
  /// is next to it.
  dnnl::pooling_forward::primitive_desc forward_desc() const {
    const PoolShape& s = problem_.shape();
    const bool backward = problem_.direction() == PoolDirection::backward;
    const std::size_t last = arguments_.size() - 1;
    return {engine_,
            problem_.direction() == PoolDirection::forward_inference
                ? dnnl::prop_kind::forward_inference
                : dnnl::prop_kind::forward_training,
            algorithm(),
            make_desc(arguments_[backward ? last : 0]),
            make_desc(arguments_[backward ? last - 1 : 1]),
            memory::dims{s.sh, s.sw},
            memory::dims{s.kh, s.kw},
            memory::dims{0, 0},
            memory::dims{s.ph, s.pw},
            padding_after(),
            attributes()};
  }

  void plan_backward(const dnnl::pooling_forward::primitive_desc& forward) {
    const PoolShape& s = problem_.shape();
    const dnnl::pooling_backward::primitive_desc backward(
        engine_, algorithm(), forward.src_desc(), forward.dst_desc(), memory::dims{s.sh, s.sw},
        memory::dims{s.kh, s.kw}, memory::dims{0, 0}, memory::dims{s.ph, s.pw}, padding_after(),
        forward, attributes());
    if (forward.workspace_desc().get_size() > 0) {
      forward_ = forward;
      saved_use_ = uses_.size() - 1;
    }
    finish(backward, dnnl::pooling_backward(backward));
  }

  template <class Description>
  void finish(const Description& description, dnnl::primitive primitive) {
    primitive_ = std::move(primitive);
    execution_.implementation = description.impl_info_str();
    execution_.workspace_bytes = description.scratchpad_desc().get_size();
    if (execution_.workspace_bytes > 0) uses_.push_back(arguments_.size());
    add_scratchpad(description.scratchpad_desc(), engine_, arguments_, call_);
  }

  PoolProblem problem_;
  dnnl::engine engine_;
  int threads_;
  std::vector<std::size_t> uses_;  ///< arguments of the primitive, among the operation's
  dnnl::primitive primitive_;
  Arguments call_;
  std::optional<dnnl::pooling_forward::primitive_desc> forward_;  ///< needed by a backward pass
  std::size_t saved_use_ = 0;
  void *src_ = nullptr, *saved_ = nullptr;
};

Result<std::unique_ptr<Operation>> make_pool(Device& device, const Problem& problem,
                                             const Options& options, Communicator&) {
  return make_in_layout<PoolProblem, Pooling>(device, problem, options, "pooling");
}

const Maker add_pool{makers(), problem_kind<PoolProblem>(), &make_pool, {"direct"}};

}  // namespace
}  // namespace assay::onednn
