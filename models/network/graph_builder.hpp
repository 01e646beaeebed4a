#pragma once
// Builds a graph layer by layer. Calls for layers add their forward nodes; backward() then adds the
// nodes of the backward pass.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/activation/function.hpp"
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

class GraphBuilder {
 public:
  /// `precision`: of convolutions and products of matrices; all else of a tf32 network is fp32.
  /// `training`: the graph has a backward pass and uses batch statistics. `narrow_gradients`: those
  /// of filters of 16-bit networks are made in 16 bits, and then converted.
  GraphBuilder(std::int64_t batch, Precision precision, bool training,
               bool narrow_gradients = false);

  /// Samples [batch, channels, height, width].
  ValueIndex images(const InputShape& shape);
  /// Convolution without bias, with square kernels of `taps` x `taps`. Initial weights are uniform
  /// with the variance 2 / fan-out (K. He et al., Delving deep into rectifiers, ICCV 2015).
  ValueIndex conv(const std::string& layer, ValueIndex from, std::int64_t channels,
                  std::int64_t taps, std::int64_t stride, std::int64_t padding);
  /// Batch normalization. `addend`: for NormFusion::add_relu. `initial`: initial scale; the initial
  /// shift is 0.
  ValueIndex norm(const std::string& layer, ValueIndex from, NormFusion fusion,
                  ValueIndex addend = Graph::none, double initial = 1);
  ValueIndex pool(const std::string& layer, ValueIndex from, PoolMode mode, std::int64_t taps,
                  std::int64_t stride, std::int64_t padding);
  /// A fully connected layer with weights, bias and `function`. `from` has vectors.
  ValueIndex dense(const std::string& layer, ValueIndex from, std::int64_t features,
                   ActivationFunction function, DenseStart start = DenseStart::fan_in);
  /// The last, fully connected layer with weights and bias, and the loss.
  void classify(const std::string& layer, ValueIndex from, std::int64_t classes, double smoothing);
  /// The loss alone. `logits`: vectors.
  void cross_entropy(ValueIndex logits, double smoothing);

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
  void add_gradient(ValueIndex of, ValueIndex gradient) { gradients_[of].push_back(gradient); }
  /// The product of vectors with a layer's weights, a part of Graph::parameters, into `to`.
  void product(const std::string& layer, ValueIndex from, std::size_t weights, ValueIndex to);
  /// Its backward nodes. `diff`: the gradient of the product.
  void product_backward(const std::string& layer, ValueIndex from, std::size_t weights,
                        ValueIndex diff);
  /// `function` of `sums`, to which the bias is added first. `before`: adds the backward nodes of
  /// what has made `sums`, from their gradient.
  ValueIndex activate(const std::string& layer, ValueIndex sums, ActivationFunction function,
                      std::size_t bias, std::function<void(ValueIndex)> before);
  /// `bias`: of the logits, if the loss adds one.
  void add_loss(ValueIndex logits, double smoothing, const Parameter* bias);
  /// The sum of all gradients of a value; adds nodes that compute it.
  ValueIndex gradient_of(ValueIndex value);
  template <class ProblemType, class MakeOracle>
  void add_node(const std::string& layer, const std::string& direction, Phase phase,
                ProblemType problem, MakeOracle oracle, std::map<std::string, ValueIndex> tensors,
                const char* layout = "");
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
  Graph graph_;
  std::map<ValueIndex, std::vector<ValueIndex>> gradients_;
  std::vector<std::function<void()>> tape_;
  std::int64_t statistics_ = 0;
};

}  // namespace assay
