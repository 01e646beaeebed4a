#pragma once
// A network as a list of operations and the tensors between them: what a step of training or
// inference computes, but not how. An Executor (executor.hpp) chooses backends and memory.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/api/oracle.hpp"

namespace assay {

/// Index of a value of a graph.
using ValueIndex = std::size_t;

/// The memory of a value.
enum class Storage {
  planned,     ///< in the arena; only valid from the first node that uses it to the last one
  persistent,  ///< its own, kept between steps: inputs, results, optimizer state
  part,        ///< part of another value's memory: single parameters and gradients
};

/// A tensor that nodes read and write.
struct GraphValue {
  std::string name;  ///< "layer1.0.conv1", "layer1.0.conv1.weight", "grad layer1.0.conv1"
  DataType type = DataType::fp32;
  std::vector<std::int64_t> dims;  ///< logical; activations are [n, c, h, w]
  Storage storage = Storage::planned;
  ValueIndex whole = 0;     ///< of a part: the value that contains it
  std::int64_t offset = 0;  ///< of a part: its first element there, aligned to cache lines
  /// The elements of a constant persistent value; empty for other values.
  std::vector<double> constant{};
  bool filters = false;  ///< [oc, ic, kh, kw] of a convolution, or their gradient
};

enum class Phase { forward, backward, accumulate, update };
const std::string& name(Phase phase);

/// Arguments that the first of two operations makes in addition to its result, for the second to
/// read. A setting requests them from both.
struct SharedArguments {
  const char *setting, *value;
  std::vector<std::string> names;
};

/// One operation of the network.
struct GraphNode {
  std::string layer;      ///< "layer1.0.conv1"
  std::string direction;  ///< "forward", "bwd_data", …
  Phase phase = Phase::forward;
  std::shared_ptr<const Problem> problem;
  std::shared_ptr<const Oracle> oracle;
  /// Values by the names of the problem's tensors. The dimensions of a value may differ from those
  /// of the tensor if they have the same elements in the same order: [n, c, 1, 1] and [n, c].
  std::map<std::string, ValueIndex> tensors;
  /// The layout that a backend is asked for if activations are nhwc, and the layout if filters are
  /// also [oc, kh, kw, ic]; "": there is only one.
  std::string layout, layout_filters_last;
  /// Arguments that this node can make for the next node (gives), or read from the previous one
  /// (takes); nullptr: none.
  const SharedArguments *gives = nullptr, *takes = nullptr;
  /// Joins `first` and `second`, which reads its result, into one node; nothing if no problem
  /// describes both.
  using Join = std::optional<GraphNode> (*)(const GraphNode& first, const GraphNode& second);
  Join join = nullptr;
  /// The value that ranks must add after the node if its layer is divided among them: the node
  /// writes the rank's own term, and its caller adds the terms. Graph::none: nothing is added.
  ValueIndex summed = static_cast<ValueIndex>(-1);
  std::string text() const { return layer + " " + direction; }
};

/// A trainable parameter.
struct Parameter {
  std::string name;  ///< as in torchvision: "layer1.0.conv1.weight"
  std::vector<std::int64_t> dims;
  ValueIndex value = 0;     ///< its part of Graph::weights
  ValueIndex gradient = 0;  ///< its part of Graph::batch_gradients
  std::int64_t offset = 0;  ///< its first element in these values
  bool decays = false;      ///< weight decay applies: weights of convolutions and of the last layer
  /// Initial elements are uniform in (-bound, bound), or equal to `constant` if bound is 0.
  double bound = 0, constant = 0;
  std::int64_t elements() const;
};

/// Mean and variance of one batch normalization; inference uses their moving averages.
struct Statistics {
  std::string name;  ///< "layer1.0.bn1"
  std::int64_t channels = 0;
  std::int64_t count = 0;               ///< numbers of a channel in a batch
  std::int64_t mean = 0, variance = 0;  ///< first elements in Graph::batch_statistics
  /// The factor that makes a variance of `count` numbers unbiased.
  double unbiased() const {
    return count > 1 ? static_cast<double>(count) / static_cast<double>(count - 1) : 1;
  }
};

/// The part of dropout's seed that does not depend on layer and pass (mask_key in
/// graph_builder.hpp).
struct MaskSeed {
  std::uint64_t seed = 1;
  int rank = 0;
};

struct Graph {
  Precision precision = Precision::fp32;  ///< of convolutions and products of matrices
  std::vector<GraphValue> values;
  std::vector<GraphNode> nodes;        ///< in the order in which they run
  std::vector<Parameter> parameters;   ///< in the order of the layers
  std::vector<Statistics> statistics;  ///< in the order of the normalizations
  /// A value that a graph does not have is `none`.
  static constexpr ValueIndex none = static_cast<ValueIndex>(-1);
  /// All parameters, all their gradients, and all velocities: one value for each kind. They are in
  /// the reverse order of `parameters`: a backward pass computes gradients about in this order.
  ValueIndex weights = none, gradients = none, velocity = none;
  ValueIndex second = none;  ///< second moments of all parameters, of optimizers that have them
  /// The gradients of one batch. If the gradients of several batches are added before an update,
  /// this is a value of its own, and `gradients` is the sum.
  ValueIndex batch_gradients = none;
  /// With a lag: the gradients of the previous step, summed over the ranks. The update reads them
  /// instead of `gradients`.
  ValueIndex lagged = none;
  ValueIndex stored = none;            ///< 16-bit copies of the weights, with 16-bit precisions
  ValueIndex batch_statistics = none;  ///< means and variances of all normalizations
  ValueIndex images = none, labels = none, logits = none, losses = none, correct = none;
  ValueIndex correlations =
      none;                       ///< of each sample's outputs (`logits`) and its input, the target
  ValueIndex confusion = none;    ///< of each sample's pixels, [batch, classes, classes]
  ValueIndex logits_bias = none;  ///< that the loss adds to the logits
  ValueIndex loss_scale = none, rate = none, unscale = none, step = none, norms = none,
             counts = none;

  /// The counter of dropout: the number of earlier passes of the training, skipped steps included.
  ValueIndex passes = none;

  const GraphValue& value(ValueIndex index) const { return values[index]; }
  std::int64_t elements(ValueIndex index) const;
  /// Sum of Problem::flops() over all nodes.
  double flops() const;
  bool accumulates() const { return gradients != batch_gradients; }
  bool lags() const { return lagged != none; }
};

}  // namespace assay
