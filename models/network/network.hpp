#pragma once
// A network by its layers, and the graphs of its training and inference.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/api/precision.hpp"
#include "kernels/update/problem.hpp"
#include "models/network/graph.hpp"
#include "models/network/input_shape.hpp"
#include "models/network/scores.hpp"

namespace assay {

class GraphBuilder;

/// Optimizer and loss (kernels/update/problem.hpp, kernels/loss/problem.hpp).
struct Learning {
  UpdateRule rule = UpdateRule::sgd;
  double momentum = 0.9, weight_decay = 1e-4, coefficient = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, alpha = 0.99, epsilon = 1e-8;
  double smoothing = 0;           ///< label smoothing
  double last_norm = 1;           ///< initial scale of the last normalization of each block
  bool narrow_gradients = false;  ///< of filters of 16-bit networks: made in 16 bits
};

struct Network {
  std::string family;      ///< "resnet"; checkpoints name the network by it and the descriptor
  std::string descriptor;  ///< of --problem: "d50w64s224c1000"
  std::map<std::string, std::int64_t> fields;  ///< of the descriptor, as rows name them
  InputShape input;
  std::int64_t classes = 1000;
  Labels labels = Labels::per_sample;
  bool filters = true;                  ///< it has convolutions
  Quality quality = Quality::accuracy;  ///< the measure of its results
  /// Adds all layers, from the input to the loss.
  std::function<void(GraphBuilder&, const Learning&)> add_layers;
  /// A form of the network that a plain fp64 loop can train (--self-check).
  std::function<Network()> make_small;
  /// The network with planes of half the height and width; nothing if these would be too small.
  std::function<std::optional<Network>()> make_half;
};

/// The graph of a builder that has a forward and a backward pass, with accumulation and update.
Graph finish_training(GraphBuilder builder, const Learning& learning, bool accumulates,
                      bool lags = false);
/// A training step of `batch` images: forward, backward, update. `accumulates`: the gradients of
/// several batches are added before the update. `lags`: the update uses the gradients of the
/// previous step. `masks`: of dropout.
Graph make_training_graph(const Network& network, std::int64_t batch, Precision precision,
                          const Learning& learning, bool accumulates = false, bool lags = false,
                          MaskSeed masks = {});
/// The gradients of one batch, without update.
Graph make_gradient_graph(const Network& network, std::int64_t batch, Precision precision,
                          const Learning& learning, MaskSeed masks = {});
/// Computes outputs, losses and the values for the scores (Quality) of `batch` samples, with moving
/// averages as statistics. The values `weights`, `stored` and `statistics` have the same order as
/// in the training graph.
Graph make_inference_graph(const Network& network, std::int64_t batch, Precision precision);

}  // namespace assay
