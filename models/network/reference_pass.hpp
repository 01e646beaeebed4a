#pragma once
// One forward and backward pass of a network in fp64, by the definitions of its layers and plain
// loops. It shares no code with graphs, executors and kernels: equal results of both mean that both
// compute this network.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/network/input_shape.hpp"

namespace assay {

class ReferencePass;

/// Values [images, height, width, channels] and the gradients of the loss by them.
struct ReferenceActivation {
  std::int64_t images = 0, height = 0, width = 0, channels = 0;
  std::vector<double> values{}, gradients{};
  std::int64_t pixels() const { return images * height * width; }
};
using ReferenceNode = std::shared_ptr<ReferenceActivation>;

/// A network by the definition of its layers.
struct ReferenceNetwork {
  InputShape input;
  std::int64_t classes = 1000;
  /// Calls a function of ReferencePass for each layer; the last one is cross_entropy().
  std::function<void(ReferencePass&, const ReferenceNode& images)> forward;
};

/// A tensor of the network, in the order of its documentation: filters [channels, inputs, taps,
/// taps], the last layer [classes, features].
struct ReferenceParameter {
  std::vector<double> initial, values, velocity;
  bool decays = false;  ///< neither biases nor normalizations do
};
using ReferenceParameters = std::map<std::string, ReferenceParameter>;

/// How a training begins.
struct ReferenceStart {
  std::uint64_t seed = 1;
  double filter_factor = 1;  ///< of all filters, beside their documented range
  double last_norm = 1;      ///< initial weight of the last normalization of each block
};

/// Samples [batch, height, width, channels] and their labels.
struct ReferenceBatch {
  std::vector<float> images;
  std::vector<std::int64_t> labels;
};

/// Mean and biased variance of each channel of a batch.
struct ReferenceStatistics {
  std::vector<double> mean, variance;
  double count = 0;  ///< numbers in a channel
};

class ReferencePass {
 public:
  /// Runs both passes. Missing parameters are created with their initial values; the others are
  /// only read. The batch must outlive the pass.
  ReferencePass(const ReferenceNetwork& network, const ReferenceStart& start, double smoothing,
                const ReferenceBatch& batch, ReferenceParameters& parameters);

  double loss = 0;                                        ///< mean over the batch
  std::map<std::string, std::vector<double>> gradients;   ///< of that, by parameter
  std::map<std::string, ReferenceStatistics> statistics;  ///< by normalization

  // Layers, for ReferenceNetwork::forward.
  using Node = ReferenceNode;
  Node conv(const std::string& layer, const Node& from, std::int64_t channels, std::int64_t taps,
            std::int64_t stride);
  Node norm(const std::string& layer, const Node& from, double initial = 1);
  Node relu(const Node& from);
  Node sigmoid(const Node& from);
  Node log_sigmoid(const Node& from);
  Node tanh(const Node& from);
  /// In the form with the error function.
  Node gelu(const Node& from);
  Node add(const Node& one, const Node& other);
  Node max_pool(const Node& from);
  Node mean(const Node& from);
  /// A product with weights [features, inputs], and a bias. Each sample of `from` is a vector.
  /// Both are uniform up to 1 / sqrt(inputs), or `glorot`: weights up to
  /// sqrt(6 / (inputs + features)), and biases 0.
  Node dense(const std::string& layer, const Node& from, std::int64_t features,
             bool glorot = false);
  /// The loss of the batch's labels.
  void cross_entropy(const Node& logits);
  /// ReferenceStart::last_norm.
  double last_norm() const { return start_.last_norm; }

 private:
  /// How a parameter begins.
  struct Initial {
    double bound = 0, constant = 0, factor = 1;
    bool decays = false;
  };

  static Node activation(std::int64_t images, std::int64_t height, std::int64_t width,
                         std::int64_t channels);
  static Node like(const Node& from) {
    return activation(from->images, from->height, from->width, from->channels);
  }
  /// `slope`: the derivative at x, where the function is y.
  Node pointwise(const Node& from, double (*function)(double), double (*slope)(double x, double y));
  const std::vector<double>& parameter(const std::string& name, std::int64_t elements,
                                       const Initial& initial);

  ReferenceStart start_;
  double smoothing_;
  const ReferenceBatch& batch_;
  ReferenceParameters& parameters_;
  std::vector<std::function<void()>> tape_;  ///< backward pass, last layer at the end
};

}  // namespace assay
