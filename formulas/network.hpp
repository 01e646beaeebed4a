#pragma once
// The work of networks, by their layers.

#include <optional>
#include <string>

#include "core/result/formula.hpp"

namespace assay::formula {

/// Sums over ranks in a pass over one sample, if layers are divided among them.
struct SplitSums {
  double count = 0, elements = 0;
  double features = 0;  ///< of the narrowest divided layer, which decides if all can be divided

  void add(double channels, double side) {
    ++count;
    elements += channels * side * side;
  }
};

/// Amounts of a forward pass over one image.
struct Network {
  double flops = 0, parameters = 0;
  double weights = 0;  ///< the parameters that products read
  /// FLOPs and weights of the products of the input, which needs no gradient.
  double first = 0, first_weights = 0;
  SplitSums sums{};  ///< none: unknown

  /// A product of `pixels` results for each output. `others`: its parameters besides weights.
  void multiply(double in, double out, double taps, double pixels, double others = 0);
  /// A dense layer with its bias.
  void connect(double in, double out) { multiply(in, out, 1, 1, out); }
};

/// "tiramisu", "deeplab" or "deepcam" of "h768w1152c16d1r2"; nothing for another name.
std::optional<Network> climate_network(const std::string& name, const Fields& shape);

/// Bytes of weights, gradients and state that one rank moves in a step or an inference, and the
/// number of passes over them. `stored`: the precision of activations.
struct StepTraffic {
  double bytes = 0, passes = 0;
};
StepTraffic training_traffic(const Network& network, const std::string& optimizer,
                             const std::string& stored, double accumulated);
StepTraffic inference_traffic(const Network& network, const std::string& stored);

/// Checks the metrics of a training whose --parallel is not sync (docs/parallel.md). `number`:
/// servers, stages or parts. `passes`: of a step.
void check_parallel(const Claims& claims, const std::string& kind, double number, double passes,
                    const SplitSums& sums);

}  // namespace assay::formula
