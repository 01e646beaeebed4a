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

namespace assay {

class ReferencePass;

/// Values [images, side, side, channels] and the gradients of the loss by them.
struct ReferenceActivation {
  std::int64_t images = 0, side = 0, channels = 0;
  std::vector<double> values{}, gradients{};
  std::int64_t pixels() const { return images * side * side; }
};
using ReferenceNode = std::shared_ptr<ReferenceActivation>;

/// A network by the definition of its layers.
struct ReferenceNetwork {
  std::int64_t image = 224, classes = 1000;
  /// Calls a function of ReferencePass for each layer; the last one is classify().
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

/// Images [batch, side, side, 3] and their labels.
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
  Node add(const Node& one, const Node& other);
  Node max_pool(const Node& from);
  Node mean(const Node& from);
  void classify(const std::string& layer, const Node& from);
  /// ReferenceStart::last_norm.
  double last_norm() const { return start_.last_norm; }

 private:
  /// How a parameter begins.
  struct Initial {
    double bound = 0, constant = 0, factor = 1;
    bool decays = false;
  };

  static Node activation(std::int64_t images, std::int64_t side, std::int64_t channels);
  const std::vector<double>& parameter(const std::string& name, std::int64_t elements,
                                       const Initial& initial);

  std::int64_t classes_;
  ReferenceStart start_;
  double smoothing_;
  const ReferenceBatch& batch_;
  ReferenceParameters& parameters_;
  std::vector<std::function<void()>> tape_;  ///< backward pass, last layer at the end
};

}  // namespace assay
