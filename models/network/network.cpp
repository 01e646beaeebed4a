#include "models/network/network.hpp"

#include <utility>

#include "models/network/graph_builder.hpp"

namespace assay {

Graph make_gradient_graph(const Network& network, std::int64_t batch, Precision precision,
                          const Learning& learning, MaskSeed masks) {
  GraphBuilder builder(batch, precision, true, learning.narrow_gradients, masks);
  network.add_layers(builder, learning);
  builder.backward();
  return builder.finish();
}

Graph finish_training(GraphBuilder builder, const Learning& learning, bool accumulates, bool lags) {
  if (accumulates) builder.accumulate();
  UpdateShape rule;
  rule.rule = learning.rule;
  rule.momentum = learning.momentum;
  rule.weight_decay = learning.weight_decay;
  rule.coefficient = learning.coefficient;
  rule.beta1 = learning.beta1;
  rule.beta2 = learning.beta2;
  rule.alpha = learning.alpha;
  rule.epsilon = learning.epsilon;
  builder.update(rule, lags);
  return builder.finish();
}

Graph make_training_graph(const Network& network, std::int64_t batch, Precision precision,
                          const Learning& learning, bool accumulates, bool lags, MaskSeed masks) {
  GraphBuilder builder(batch, precision, true, learning.narrow_gradients, masks);
  network.add_layers(builder, learning);
  builder.backward();
  return finish_training(std::move(builder), learning, accumulates, lags);
}

Graph make_inference_graph(const Network& network, std::int64_t batch, Precision precision) {
  GraphBuilder builder(batch, precision, false);
  network.add_layers(builder, {});
  return builder.finish();
}

}  // namespace assay
