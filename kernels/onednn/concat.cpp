// oneDNN's concatenation primitive. The library has no split, so each part is reordered from the
// whole.

#include "kernels/concat/problem.hpp"

#include "core/api/layout.hpp"
#include "kernels/onednn/in_layout.hpp"

namespace assay::onednn {
namespace {

class Concatenation final : public BoundOperation {
 public:
  Concatenation(const ConcatProblem& problem, const std::string& layout, const dnnl::engine& engine,
                int threads)
      : BoundOperation(problem.tensors()), threads_(threads) {
    if (layout == "nhwc") lay_channels_last(arguments_);
    execution_.algorithm = "direct";
    execution_.storage = std::string(name(problem.precision()));
    execution_.compute = execution_.accumulate = execution_.storage;  // nothing is computed
    execution_.layout = layout;
    execution_.evidence = "library";
    if (problem.direction() == ConcatDirection::forward)
      join(engine);
    else
      split(problem.shape(), engine);
  }

  void bind(std::span<Tensor* const> tensors) override {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      std::vector<Tensor*> used(tensors.begin(), tensors.end());
      if (splits_) used = {tensors[0], tensors[i + 1]};
      calls_[i].arguments.bind(used);
    }
    set_threads(threads_);
  }

  void run(Stream& stream) override {
    for (const Call& call : calls_)
      execute(call.primitive, stream, call.arguments.call(), "concatenation");
  }

 private:
  using Description = dnnl::memory::desc;
  struct Call {
    dnnl::primitive primitive;
    Arguments arguments{};
  };

  void join(const dnnl::engine& engine) {
    std::vector<Description> joined;
    for (std::size_t i = 0; i + 1 < arguments_.size(); ++i)
      joined.push_back(make_desc(arguments_[i]));
    const Description whole = make_desc(arguments_.back());
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::concat::primitive_desc description(engine, whole, 1, joined, attributes);
    Call call{dnnl::concat(description)};
    for (std::size_t i = 0; i < joined.size(); ++i)
      call.arguments.add(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), joined[i], engine);
    call.arguments.add(DNNL_ARG_DST, whole, engine);
    execution_.implementation = description.impl_info_str();
    execution_.workspace_bytes = description.scratchpad_desc().get_size();
    add_scratchpad(description.scratchpad_desc(), engine, arguments_, call.arguments);
    calls_.push_back(std::move(call));
  }

  void split(const ConcatShape& shape, const dnnl::engine& engine) {
    splits_ = true;
    const Description whole = make_desc(arguments_[0]);
    std::int64_t before = 0;
    for (std::size_t k = 0; k < shape.channels.size(); before += shape.channels[k++]) {
      const Description to = make_desc(arguments_[k + 1]),
                        from = whole.submemory_desc(to.get_dims(), {0, before, 0, 0});
      const dnnl::reorder::primitive_desc description(engine, from, engine, to);
      Call call{dnnl::reorder(description)};
      call.arguments.add(DNNL_ARG_FROM, from, engine);
      call.arguments.add(DNNL_ARG_TO, to, engine);
      execution_.implementation = std::string("reorder ") + description.impl_info_str();
      calls_.push_back(std::move(call));
    }
  }

  int threads_;
  bool splits_ = false;
  std::vector<Call> calls_;
};

Result<std::unique_ptr<Operation>> make_concat(Device& device, const Problem& problem,
                                               const Options& options, Communicator&) {
  return make_in_layout<ConcatProblem, Concatenation>(device, problem, options, "concatenation");
}

const Maker add_concat{makers(), problem_kind<ConcatProblem>(), &make_concat, {"direct"}};

}  // namespace
}  // namespace assay::onednn
