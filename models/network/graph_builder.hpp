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

/// The movement of a window over a plane. `dilation`: the distance of neighbouring taps; 1: they
/// are adjacent.
struct ConvOptions {
  std::int64_t stride = 1, padding = 0, dilation = 1;
  /// A factor of the initial weights. 0.5 halves the activations of a layer with ReLU, like a
  /// multiplication by 0.5 after the layer. (The gradients of the weights are then twice as large
  /// as with such a multiplication.)
  double start = 1;
};

/// The key of a layer's masks (kernels/dropout/problem.hpp). Its low 32 bits are those of the
/// 64-bit FNV-1a hash of the layer's name and the seed, "drop1 7"; its high bits are the rank.
std::int64_t mask_key(const std::string& layer, const MaskSeed& mask);

class GraphBuilder {
 public:
  /// `precision`: of convolutions and products of matrices; other operations of a tf32 network are
  /// fp32. `training`: the graph has a backward pass and uses batch statistics. `narrow_gradients`:
  /// in 16-bit networks, gradients of filters are computed in 16 bits, and then converted.
  GraphBuilder(std::int64_t batch, Precision precision, bool training,
               bool narrow_gradients = false, MaskSeed masks = {});
  /// For a graph `begun` that has all nodes of a forward and a backward pass; accumulate() and
  /// update() complete it. `statistics`: elements of its batch_statistics.
  GraphBuilder(Graph begun, std::int64_t statistics);

  /// Divides `layers` among `ranks` ranks in equal parts; `ranks` must divide their features (or
  /// channels). Each rank has some features of such a layer, and the same part of the inputs of the
  /// layer that reads them; that layer's outputs are sums over all ranks (GraphNode::summed; M.
  /// Shoeybi et al., Megatron-LM, arXiv:1909.08053). Operations on single channels may lie between
  /// the two layers. Call it before adding layers.
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
  /// Transposed convolution without bias: the bwd_data of a convolution that reads planes of height
  /// x width and makes planes like those of `from`. Weights are [inputs, channels, taps, taps], as
  /// in PyTorch's ConvTranspose2d. Initial weights are uniform up to start sqrt(6 stride^2 /
  /// (inputs taps^2)), since an output is the sum of inputs taps^2 / stride^2 products on average.
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
  /// Drops elements with the probability `p`; adds nothing in inference. Each pass of each step,
  /// each layer and each rank has its own mask (Graph::passes, mask_key).
  ValueIndex dropout(const std::string& layer, ValueIndex from, double p);
  /// Batch normalization. `addend`: for NormFusion::add_relu. `initial`: initial scale; the initial
  /// shift is 0.
  ValueIndex norm(const std::string& layer, ValueIndex from, NormFusion fusion,
                  ValueIndex addend = Graph::none, double initial = 1);
  ValueIndex pool(const std::string& layer, ValueIndex from, PoolMode mode, std::int64_t taps,
                  std::int64_t stride, std::int64_t padding);
  /// The mean of each plane (global pooling).
  ValueIndex mean(const std::string& layer, ValueIndex from);
  /// A fully connected layer with weights, bias and `function`. `from` contains vectors.
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
  /// The squared error between `outputs` and the samples themselves (kernels/squared_error).
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
  /// A convolution, or the transposed convolution of its shape (its bwd_data), then a bias and
  /// `function` if given. Initial filters [shape.oc, shape.ic, taps, taps] are uniform up to
  /// `bound`.
  ValueIndex convolve(const std::string& layer, ValueIndex from, const ConvShape& shape,
                      bool transposed, double bound, std::optional<ActivationFunction> function);
  /// The node of such a convolution or of its gradient by data, from one value into another.
  void add_product(const std::string& layer, const std::string& direction, Phase phase,
                   const ConvShape& shape, bool transposed, ValueIndex from, std::size_t filters,
                   ValueIndex to);
  /// The gradient of filters. `src` and `diff`: arguments of the convolution.
  void filter_gradient(const std::string& layer, const ConvShape& shape, ValueIndex src,
                       ValueIndex diff, std::size_t filters);
  /// The product of vectors and a layer's weights into `to`. `weights`: index in Graph::parameters.
  void product(const std::string& layer, ValueIndex from, std::size_t weights, ValueIndex to);
  /// The backward nodes of product(). `diff`: the gradient of the product.
  void product_backward(const std::string& layer, ValueIndex from, std::size_t weights,
                        ValueIndex diff);
  /// The features of a layer that this rank has.
  std::int64_t own_part(const std::string& layer, std::int64_t features) const {
    return divided_layers_.contains(layer) ? features / divided_ranks_ : features;
  }
  /// Marks `to` as a value with only this rank's channels, if `from` is one or `layer` is divided.
  void follow(ValueIndex from, ValueIndex to, const std::string& layer = "") {
    if (layer.empty() ? divided_.contains(from) : divided_layers_.contains(layer))
      divided_.insert(to);
  }
  /// If the last node's inputs are divided, each rank has one term of `value`: marks it to be
  /// summed.
  void sum_over_ranks(bool divided, ValueIndex value) {
    if (divided) graph_.nodes.back().summed = value;
  }
  static constexpr auto no_bias = static_cast<std::size_t>(-1);
  /// `function` of `sums`, after adding the bias, if there is one. `before`: adds the backward
  /// nodes of the operation that made `sums`, from their gradient.
  ValueIndex activate(const std::string& layer, ValueIndex sums, ActivationFunction function,
                      std::size_t bias, std::function<void(ValueIndex)> before);
  /// Adds a new bias and `function` to `sums`, if `function` is given. `before`: as for activate().
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
  std::set<ValueIndex> divided_;  ///< values with only this rank's features
};

}  // namespace assay
