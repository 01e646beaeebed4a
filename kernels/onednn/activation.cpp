// oneDNN's element-wise primitives, which add no bias.

#include "kernels/activation/problem.hpp"

#include "kernels/onednn/in_layout.hpp"

namespace assay::onednn {
namespace {

dnnl::algorithm to_dnnl_algorithm(ActivationFunction function) {
  switch (function) {
    case ActivationFunction::sigmoid:
      return dnnl::algorithm::eltwise_logistic_use_dst_for_bwd;
    case ActivationFunction::tanh:
      return dnnl::algorithm::eltwise_tanh_use_dst_for_bwd;
    case ActivationFunction::gelu:
      return dnnl::algorithm::eltwise_gelu_erf;
    default:
      return dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
  }
}

class Eltwise final : public OnePrimitive {
 public:
  Eltwise(const ActivationProblem& problem, const std::string& layout, const dnnl::engine& engine,
          int threads)
      : OnePrimitive(problem.tensors(), problem.precision(), layout, threads, "eltwise") {
    for (const TensorSpec& spec : arguments_)
      call_.add(spec.name == "src"        ? DNNL_ARG_SRC
                : spec.name == "dst"      ? DNNL_ARG_DST
                : spec.name == "diff_dst" ? DNNL_ARG_DIFF_DST
                                          : DNNL_ARG_DIFF_SRC,
                make_desc(spec), engine);
    const dnnl::memory::desc desc = make_desc(arguments_.front());
    const dnnl::algorithm algorithm = to_dnnl_algorithm(problem.function());
    const dnnl::eltwise_forward::primitive_desc forward(engine, dnnl::prop_kind::forward_training,
                                                        algorithm, desc, desc, 0, 0, attributes());
    if (problem.backward()) {
      const dnnl::eltwise_backward::primitive_desc backward(engine, algorithm, desc, desc, desc, 0,
                                                            0, forward, attributes());
      finish(backward, dnnl::eltwise_backward(backward), engine);
    } else {
      finish(forward, dnnl::eltwise_forward(forward), engine);
    }
  }
};

Result<std::unique_ptr<Operation>> make_activation(Device& device, const Problem& what,
                                                   const Options& options, Communicator&) {
  const auto& problem = problem_cast<ActivationProblem>(what);
  if (problem.function() == ActivationFunction::log_sigmoid)
    return Unsupported{
        "onednn computes no gradient of log_sigmoid from dst. Use --backend native."};
  if (problem.bias())
    return Unsupported{
        "onednn adds no bias before an activation (it is a primitive of one tensor). Use --bias "
        "none."};
  return make_in_layout<ActivationProblem, Eltwise>(device, what, options, "activation");
}

const Maker add_activation{
    makers(), problem_kind<ActivationProblem>(), &make_activation, {"direct"}};

}  // namespace
}  // namespace assay::onednn
