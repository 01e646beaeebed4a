#pragma once
// A network as a list of operations: what a step of training, or of inference, computes, and which
// tensors it computes it from. Nothing of how: executor.hpp chooses backends and memory.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/oracle.hpp"

namespace assay {

/// Index of a value of a graph.
using ValueIndex = std::size_t;

/// Where the memory of a value is.
enum class Storage {
  planned,     ///< in the arena, from the first node that names it to the last
  persistent,  ///< its own, from step to step: inputs, results, optimizer state
  part,        ///< elements of another value, side by side with others: parameters and gradients
};

/// A tensor that nodes read and write.
struct GraphValue {
  std::string name;  ///< "layer1.0.conv1", "layer1.0.conv1.weight", "grad layer1.0.conv1"
  DataType type = DataType::fp32;
  std::vector<std::int64_t> dims;  ///< logical; activations are [n, c, h, w]
  Storage storage = Storage::planned;
  ValueIndex whole = 0;     ///< of a part: the value that it is in
  std::int64_t offset = 0;  ///< of a part: its first element there; whole cache lines
};

enum class Phase { forward, backward, accumulate, update };
const std::string& name(Phase phase);

/// One operation of the network.
struct GraphNode {
  std::string layer;      ///< "layer1.0.conv1"
  std::string direction;  ///< "forward", "bwd_data", …
  Phase phase = Phase::forward;
  std::shared_ptr<const Problem> problem;
  std::shared_ptr<const Oracle> oracle;
  /// Values by the names of the problem's tensors. One value may serve a tensor of other
  /// dimensions with as many elements in the same order: a plane of one pixel as a vector.
  std::map<std::string, ValueIndex> tensors;
  std::string text() const { return layer + " " + direction; }
};

/// A parameter that is learnt.
struct Parameter {
  std::string name;  ///< as torchvision's: "layer1.0.conv1.weight"
  std::vector<std::int64_t> dims;
  ValueIndex value = 0;     ///< its part of Graph::weights
  ValueIndex gradient = 0;  ///< its part of Graph::batch_gradients
  std::int64_t offset = 0;  ///< its first element in these
  bool decays = false;      ///< weights of convolutions and of the last layer
  /// Its initial elements are uniform in (-bound, bound), or `constant` where bound is 0.
  double bound = 0, constant = 0;
  std::int64_t elements() const;
};

/// Mean and variance of one normalization, whose moving averages inference uses.
struct Statistics {
  std::string name;  ///< "layer1.0.bn1"
  std::int64_t channels = 0;
  double unbiased = 1;                  ///< m / (m - 1), for the variance of m elements
  std::int64_t mean = 0, variance = 0;  ///< first elements in Graph::batch_statistics
};

struct Graph {
  std::vector<GraphValue> values;
  std::vector<GraphNode> nodes;        ///< in the order in which they run
  std::vector<Parameter> parameters;   ///< in the order of the layers
  std::vector<Statistics> statistics;  ///< in the order of the normalizations
  /// All parameters and all their gradients, in the reverse order of `parameters`, which is about
  /// that in which a backward pass makes them. What a graph does not have is `none`.
  static constexpr ValueIndex none = static_cast<ValueIndex>(-1);
  ValueIndex weights = none, gradients = none, velocity = none;
  /// The gradients of one batch; where those of several are added before an update, they are a
  /// value of their own, and `gradients` their sum.
  ValueIndex batch_gradients = none;
  /// With a lag: the sum over the ranks of the gradients of the step before, which the update reads
  /// in place of `gradients`, and which is as large.
  ValueIndex lagged = none;
  ValueIndex stored = none;  ///< 16-bit copies of the weights, where activations have 16 bits
  ValueIndex batch_statistics = none;  ///< means and variances of all normalizations
  ValueIndex images = none, labels = none, logits = none, losses = none, correct = none;
  ValueIndex loss_scale = none, rate = none, unscale = none, norms = none, counts = none;

  const GraphValue& value(ValueIndex index) const { return values[index]; }
  std::int64_t elements(ValueIndex index) const;
  /// Floating-point operations of a pass through all nodes, as the problems count them.
  double flops() const;
  bool accumulates() const { return gradients != batch_gradients; }
  bool lags() const { return lagged != none; }
};

}  // namespace assay
