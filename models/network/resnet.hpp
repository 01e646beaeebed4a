#pragma once
// The graphs of residual networks (K. He et al., Deep residual learning for image recognition, CVPR
// 2016), in the form v1.5 of torchvision and MLPerf, with the stride in the 3x3 convolution.

#include <cstdint>
#include <string>

#include "core/api/precision.hpp"
#include "kernels/update/problem.hpp"
#include "models/network/graph.hpp"

namespace assay {

struct ResnetShape {
  int depth = 50;            ///< 18 (basic blocks) or 50 (bottlenecks)
  std::int64_t width = 64;   ///< channels of the first convolution; all others are proportional
  std::int64_t image = 224;  ///< height and width of an image, which has three colours
  std::int64_t classes = 1000;
  bool operator==(const ResnetShape&) const = default;
};

/// Parses "d50w64s224c1000", or its name "resnet50-imagenet"; missing fields have these values.
/// InputError names the field that is unknown, given twice or below 1, an unsupported depth, a
/// width that is too large.
ResnetShape parse_resnet(const std::string& descriptor);
/// The descriptor with all four fields.
std::string to_descriptor(const ResnetShape& shape);

/// Optimizer and loss (kernels/update/problem.hpp, kernels/loss/problem.hpp).
struct Learning {
  UpdateRule rule = UpdateRule::sgd;
  double momentum = 0.9, weight_decay = 1e-4, coefficient = 1e-3;
  double smoothing = 0;           ///< label smoothing
  double last_norm = 1;           ///< initial scale of the last normalization of each block
  bool narrow_gradients = false;  ///< of filters of 16-bit networks: made in 16 bits
};

/// A training step of `batch` images: forward, backward, update. `accumulates`: the gradients of
/// several batches are added before the update. `lags`: the update uses the gradients of the step
/// before.
Graph training_graph(const ResnetShape& shape, std::int64_t batch, Precision precision,
                     const Learning& learning, bool accumulates = false, bool lags = false);
/// Logits, losses and correct classes of `batch` images, with moving averages as statistics. The
/// values `weights`, `stored` and `statistics` have the same order as in the training graph.
Graph inference_graph(const ResnetShape& shape, std::int64_t batch, Precision precision);

}  // namespace assay
