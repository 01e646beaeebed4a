// Functions and sums of values, without parameters: they join residual blocks.
#include "kernels/sum/problem.hpp"
#include "models/network/graph_builder_parts.hpp"

namespace assay {

ValueIndex GraphBuilder::relu(const std::string& layer, ValueIndex from) {
  return activate(layer, from, ActivationFunction::relu, no_bias,
                  [=, this](ValueIndex diff) { add_gradient(from, diff); });
}

ValueIndex GraphBuilder::add(const std::string& layer, ValueIndex a, ValueIndex b) {
  const ValueIndex dst = like(layer, a);
  follow(a, dst);
  add_node(layer, "forward", Phase::forward, SumProblem(graph_.elements(dst), precision_),
           &make_sum_oracle, {{"a", a}, {"b", b}, {"dst", dst}});
  tape_.emplace_back([=, this] {
    const ValueIndex diff = add_up_gradients(dst);
    add_gradient(a, diff);
    add_gradient(b, diff);
  });
  return dst;
}

}  // namespace assay
