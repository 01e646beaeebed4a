#pragma once
// One forward and backward pass of a network in fp64, in plain loops that follow the definitions of
// its layers. It shares no code with graphs, executors and kernels, so equal results are evidence
// that both compute this network.

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

/// A network, described by the definitions of its layers.
struct ReferenceNetwork {
  InputShape input;
  std::int64_t classes = 1000;
  /// Calls a function of ReferencePass for each layer; the last one is a loss.
  std::function<void(ReferencePass&, const ReferenceNode& images)> forward;
  Labels labels = Labels::per_sample;
};

/// A tensor of the network, in the order of its documentation: filters [channels, inputs, taps,
/// taps], the last layer [classes, features].
struct ReferenceParameter {
  std::vector<double> initial, values, velocity;
  bool decays = false;  ///< neither biases nor normalizations do
};
using ReferenceParameters = std::map<std::string, ReferenceParameter>;

/// The start of a training.
struct ReferenceStart {
  std::uint64_t seed = 1;
  double filter_factor = 1;  ///< multiplies all filters, after their documented range
  double last_norm = 1;      ///< initial weight of the last normalization of each block
};

/// Samples [batch, height, width, channels] and the labels of each.
struct ReferenceBatch {
  std::vector<float> images;
  std::vector<std::int64_t> labels;
};

/// The position of a pass in a training; masks of dropout depend on it.
struct ReferenceMoment {
  std::int64_t passes = 0;  ///< earlier passes of the training
  std::int64_t rank = 0;
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
                const ReferenceBatch& batch, ReferenceParameters& parameters,
                const ReferenceMoment& moment = {});

  double loss = 0;                                        ///< mean over the batch
  std::map<std::string, std::vector<double>> gradients;   ///< of the loss, by parameter
  std::map<std::string, ReferenceStatistics> statistics;  ///< by normalization
  bool depends_on_moment = false;                         ///< it has dropout

  // Layers, for ReferenceNetwork::forward.
  using Node = ReferenceNode;
  /// The padding is dilation (taps / 2). Filters are uniform up to sqrt(6 / (channels taps^2)).
  /// With a bias (initially 0) or a given `start`, they are uniform up to start sqrt(6 / (inputs
  /// taps^2)); the default start is 1.
  Node conv(const std::string& layer, const Node& from, std::int64_t channels, std::int64_t taps,
            std::int64_t stride, std::int64_t dilation = 1, bool bias = false, double start = 0);
  /// Multiplies each number of `from` by a filter [inputs, channels, taps, taps], and adds the
  /// product to a window of planes of height x width. Windows are `stride` apart; the first begins
  /// at -padding. Filters are uniform up to start sqrt(6 stride^2 / (inputs taps^2)).
  Node deconv(const std::string& layer, const Node& from, std::int64_t channels, std::int64_t taps,
              std::int64_t stride, std::int64_t padding, std::int64_t height, std::int64_t width,
              double start = 1);
  /// The channels of all, one after the other.
  Node concat(const std::vector<Node>& from);
  /// Bilinear, by coordinates of the centres of pixels.
  Node resize(const Node& from, std::int64_t height, std::int64_t width);
  /// Drops elements with the probability `p`, and multiplies the others by 1 / (1 - p).
  Node dropout(const std::string& layer, const Node& from, double p);
  Node norm(const std::string& layer, const Node& from, double initial = 1);
  Node relu(const Node& from);
  Node sigmoid(const Node& from);
  Node log_sigmoid(const Node& from);
  Node tanh(const Node& from);
  /// The form with the error function.
  Node gelu(const Node& from);
  Node add(const Node& first, const Node& other);
  /// Maxima of windows with stride 2 and padding taps / 2; with 1 tap: every second pixel.
  Node max_pool(const Node& from, std::int64_t taps = 3);
  Node mean(const Node& from);
  /// A product with weights [features, inputs], and a bias. Each sample of `from` is a vector.
  /// Weights and biases are uniform up to 1 / sqrt(inputs); with `glorot`, weights are uniform up
  /// to sqrt(6 / (inputs + features)), and biases are 0.
  Node dense(const std::string& layer, const Node& from, std::int64_t features,
             bool glorot = false);
  /// The loss of the batch's labels.
  void cross_entropy(const Node& logits);
  /// The loss of each pixel, times the factor of its label's class, summed over the pixels of an
  /// image.
  void pixel_cross_entropy(const Node& logits, const std::vector<double>& class_weights,
                           double factor);
  /// The mean over the features of (output - sample)^2.
  void squared_error(const Node& outputs);
  /// ReferenceStart::last_norm.
  double last_norm() const { return start_.last_norm; }

 private:
  /// The initial values of a parameter.
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
  void add_bias(const std::string& layer, const Node& to);
  const std::vector<double>& parameter(const std::string& name, std::int64_t elements,
                                       const Initial& initial);

  ReferenceStart start_;
  double smoothing_;
  const ReferenceBatch& batch_;
  ReferenceParameters& parameters_;
  ReferenceMoment moment_;
  std::vector<std::function<void()>> tape_;  ///< backward pass, last layer at the end
};

}  // namespace assay
