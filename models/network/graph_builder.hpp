#pragma once
// Builds a graph layer by layer. Calls for layers add their forward nodes; backward() then adds the
// nodes of the backward pass.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/activation/function.hpp"
#include "kernels/conv/problem.hpp"
#include "kernels/norm/problem.hpp"
#include "kernels/pool/problem.hpp"
#include "kernels/update/problem.hpp"
#include "models/network/graph.hpp"
#include "models/network/input_shape.hpp"

namespace assay {

/// Initial weights and biases of a dense layer.
enum class DenseStart {
  fan_in,  ///< both uniform up to 1 / sqrt(inputs), as PyTorch's
  glorot,  ///< weights uniform up to sqrt(6 / (inputs + features)), biases 0, as Keras's (X. Glorot
           ///< and Y. Bengio, AISTATS 2010)
};

/// The movement of a window over a plane. `dilation`: the distance of adjacent taps, 1: none lies
/// between.
struct ConvOptions {
  std::int64_t stride = 1, padding = 0, dilation = 1;
  /// A factor of the initial weights: 0.5 halves the activations of a layer with ReLU, as a
  /// multiplication after it does (the loss is then as sensitive to the weights as if they were
  /// twice as large).
  double start = 1;
};

/// The key of a layer's masks (kernels/dropout/problem.hpp): the low 32 bits are those of FNV-1a
/// (64 bits) of the layer's name and the seed, "drop1 7"; the high bits are the rank.
std::int64_t mask_key(const std::string& layer, const MaskSeed& mask);

class GraphBuilder {
 public:
  /// `precision`: of convolutions and products of matrices; all else of a tf32 network is fp32.
  /// `training`: the graph has a backward pass and uses batch statistics. `narrow_gradients`: those
  /// of filters of 16-bit networks are made in 16 bits, and then converted.
  GraphBuilder(std::int64_t batch, Precision precision, bool training,
               bool narrow_gradients = false, MaskSeed masks = {});
  /// Completes `begun`, which has all nodes of a forward and a backward pass, by accumulate() and
  /// update(). `statistics`: elements of its batch_statistics.
  GraphBuilder(Graph begun, std::int64_t statistics);

  /// Divides these layers, whose features (or channels) `ranks` divides, among `ranks` ranks with
  /// parts alike. Each rank has some features of such a layer, and some inputs of the layer that
  /// reads these, whose sums are then over all ranks (GraphNode::summed; M. Shoeybi et al.,
  /// Megatron-LM, arXiv:1909.08053). Operations that compute each channel by itself may lie between
  /// the two. Call it before all layers.
  void divide(int ranks, std::set<std::string> layers) {
    divided_ranks_ = ranks;
    divided_layers_ = std::move(layers);
  }

  /// Samples [batch, channels, height, width].
  ValueIndex images(const InputShape& shape);
  /// Convolution without bias, with square kernels of `taps` x `taps`. Initial weights are uniform
  /// with the variance 2 / fan-out (K. He et al., Delving deep into rectifiers, ICCV 2015).
  ValueIndex conv(const std::string& layer, ValueIndex from, std::int64_t channels,
                  std::int64_t taps, std::int64_t stride, std::int64_t padding,
                  std::int64_t dilation = 1);
  /// Convolution without bias, with the initial weights of conv_biased().
  ValueIndex conv(const std::string& layer, ValueIndex from, std::int64_t channels,
                  std::int64_t taps, const ConvOptions& options);
  /// Convolution, then bias and `function`. Initial weights are uniform up to sqrt(6 / fan-in),
  /// fan-in = inputs taps^2 (K. He et al., as above); biases are 0.
  ValueIndex conv_biased(const std::string& layer, ValueIndex from, std::int64_t channels,
                         std::int64_t taps, const ConvOptions& options,
                         ActivationFunction function);
  /// Transposed convolution without bias: the backward pass by data of a convolution of planes of
  /// height x width that makes planes like those of `from`. Weights [inputs, channels, taps, taps],
  /// as of PyTorch's ConvTranspose2d. Initial weights are uniform up to
  /// start sqrt(6 stride^2 / (inputs taps^2)), since an output is a sum of inputs taps^2 / stride^2
  /// products on average.
  ValueIndex deconv(const std::string& layer, ValueIndex from, std::int64_t channels,
                    std::int64_t taps, std::int64_t stride, std::int64_t padding,
                    std::int64_t height, std::int64_t width, double start = 1);
  /// max(x, 0).
  ValueIndex relu(const std::string& layer, ValueIndex from);
  /// The element-wise sum of two values.
  ValueIndex add(const std::string& layer, ValueIndex a, ValueIndex b);
  /// Joins the channels of two to eight values.
  ValueIndex concat(const std::string& layer, const std::vector<ValueIndex>& from);
  /// Bilinear, ResizeCoordinates::half_pixel.
  ValueIndex resize(const std::string& layer, ValueIndex from, std::int64_t height,
                    std::int64_t width);
  /// Drops elements with the probability `p`; nothing in inference. Each pass of each step, each
  /// layer and each rank has a mask of its own (Graph::passes, mask_key).
  ValueIndex dropout(const std::string& layer, ValueIndex from, double p);
  /// Batch normalization. `addend`: for NormFusion::add_relu. `initial`: initial scale; the initial
  /// shift is 0.
  ValueIndex norm(const std::string& layer, ValueIndex from, NormFusion fusion,
                  ValueIndex addend = Graph::none, double initial = 1);
  ValueIndex pool(const std::string& layer, ValueIndex from, PoolMode mode, std::int64_t taps,
                  std::int64_t stride, std::int64_t padding);
  /// The mean of each plane (global pooling).
  ValueIndex mean(const std::string& layer, ValueIndex from);
  /// A fully connected layer with weights, bias and `function`. `from` has vectors.
  ValueIndex dense(const std::string& layer, ValueIndex from, std::int64_t features,
                   ActivationFunction function, DenseStart start = DenseStart::fan_in);
  /// The last, fully connected layer with weights and bias, and the loss.
  void classify(const std::string& layer, ValueIndex from, std::int64_t classes, double smoothing);
  /// The loss alone. `logits`: vectors.
  void cross_entropy(ValueIndex logits, double smoothing);
  /// The loss of a label for each pixel of `logits` (kernels/pixel_loss): a pixel of class c counts
  /// class_weights[c] * factor times, and the loss of a sample is the sum over its pixels.
  void pixel_cross_entropy(ValueIndex logits, const std::vector<double>& class_weights,
                           double factor);
  /// The squared error of vectors, whose targets are the samples themselves
  /// (kernels/squared_error).
  void squared_error(ValueIndex outputs);

  /// Adds the nodes of the backward pass, from the last layer to the first.
  void backward();
  /// Adds nodes that add the gradients of a batch to those of earlier batches. Call it after
  /// backward().
  void accumulate();
  /// Adds the update of all parameters. `lags`: it uses the gradients of the step before.
  void update(UpdateShape rule, bool lags);
  Graph finish();

 private:
  ValueIndex add_value(const std::string& name, DataType type, std::vector<std::int64_t> dims,
                       Storage storage = Storage::planned);
  ValueIndex add_parameter(const std::string& name, const std::vector<std::int64_t>& dims,
                           double bound, double constant);
  /// A new value with the dimensions of `like`.
  ValueIndex like(const std::string& name, ValueIndex like);
  void add_gradient(ValueIndex value, ValueIndex gradient) {
    gradients_[value].push_back(gradient);
  }
  ValueIndex pool(const std::string& layer, ValueIndex from, PoolMode mode, const PoolShape& shape);
  ConvShape conv_shape(ValueIndex from, std::int64_t channels, std::int64_t taps,
                       const ConvOptions& options) const;
  /// A convolution, or a transposed one of its shape (its pass back to data), of initial filters
  /// [shape.oc, shape.ic, taps, taps] up to `bound`, and what follows it.
  ValueIndex convolve(const std::string& layer, ValueIndex from, const ConvShape& shape,
                      bool transposed, double bound, std::optional<ActivationFunction> function);
  /// The node of one of them, from a value into another.
  void add_product(const std::string& layer, const std::string& direction, Phase phase,
                   const ConvShape& shape, bool transposed, ValueIndex from, std::size_t filters,
                   ValueIndex to);
  /// The gradient of filters. `src` and `diff`: of the convolution.
  void filter_gradient(const std::string& layer, const ConvShape& shape, ValueIndex src,
                       ValueIndex diff, std::size_t filters);
  /// The product of vectors with a layer's weights, a part of Graph::parameters, into `to`.
  void product(const std::string& layer, ValueIndex from, std::size_t weights, ValueIndex to);
  /// Its backward nodes. `diff`: the gradient of the product.
  void product_backward(const std::string& layer, ValueIndex from, std::size_t weights,
                        ValueIndex diff);
  /// The features of a layer that this rank has.
  std::int64_t own_part(const std::string& layer, std::int64_t features) const {
    return divided_layers_.contains(layer) ? features / divided_ranks_ : features;
  }
  /// `to` has the channels of this rank alone if `from` does, or if `layer` is divided.
  void follow(ValueIndex from, ValueIndex to, const std::string& layer = "") {
    if (layer.empty() ? divided_.contains(from) : divided_layers_.contains(layer))
      divided_.insert(to);
  }
  /// The last node has made `value`, to which every rank that divides its inputs has a term.
  void sum_over_ranks(bool divided, ValueIndex value) {
    if (divided) graph_.nodes.back().summed = value;
  }
  static constexpr auto no_bias = static_cast<std::size_t>(-1);
  /// `function` of `sums`, to which the bias is added first, if there is one. `before`: adds the
  /// backward nodes of what has made `sums`, from their gradient.
  ValueIndex activate(const std::string& layer, ValueIndex sums, ActivationFunction function,
                      std::size_t bias, std::function<void(ValueIndex)> before);
  /// `sums` with a new bias and `function`, or as they are. `before`: as activate()'s.
  ValueIndex add_activation(const std::string& layer, ValueIndex sums,
                            std::optional<ActivationFunction> function,
                            std::function<void(ValueIndex)> before);
  /// `bias`: of the logits, if the loss adds one.
  void add_loss(ValueIndex logits, double smoothing, const Parameter* bias);
  /// The sum of all gradients of a value; adds nodes that compute it.
  ValueIndex add_up_gradients(ValueIndex value);
  template <class ProblemType, class MakeOracle>
  GraphNode& add_node(const std::string& layer, const std::string& direction, Phase phase,
                      ProblemType problem, MakeOracle oracle,
                      std::map<std::string, ValueIndex> tensors, const char* layout = "");
  ValueIndex part(ValueIndex whole, const std::string& name, DataType type,
                  std::vector<std::int64_t> dims, std::int64_t offset);
  std::int64_t dim(ValueIndex value, int which) const {
    return graph_.values[value].dims[static_cast<std::size_t>(which)];
  }
  /// Elements of the value that contains all parameters.
  std::int64_t all_elements() const;
  const Parameter& parameter(std::size_t index) const { return graph_.parameters[index]; }

  std::int64_t batch_;
  Precision products_, precision_;  ///< of products, and of all other operations
  DataType type_, wide_;
  bool training_, narrow_gradients_;
  MaskSeed masks_;
  Graph graph_;
  std::map<ValueIndex, std::vector<ValueIndex>> gradients_;
  std::vector<std::function<void()>> tape_;
  std::int64_t statistics_ = 0;
  int divided_ranks_ = 1;
  std::set<std::string> divided_layers_;
  std::set<ValueIndex> divided_;  ///< values that have the features of this rank alone
};

}  // namespace assay
