#pragma once
// Residual networks (K. He et al., Deep residual learning for image recognition, CVPR 2016) in the
// form that is called v1.5, with the stride in the 3x3 convolution, as torchvision and MLPerf have
// them, as lists of operations.

#include <cstdint>
#include <string>

#include "core/api/precision.hpp"
#include "kernels/update/problem.hpp"
#include "models/network/graph.hpp"

namespace assay {

struct ResnetShape {
  int depth = 50;            ///< 18 (basic blocks) or 50 (bottlenecks)
  std::int64_t width = 64;   ///< channels of the first convolution, to which all are proportional
  std::int64_t image = 224;  ///< height and width of an image, which has three colours
  std::int64_t classes = 1000;
  bool operator==(const ResnetShape&) const = default;
};

/// "d50w64s224c1000", which is also "resnet50-imagenet"; what is left out is as ResNet-50's for
/// ImageNet. InputError names the field: unknown, twice, a depth that is none, a size below 1, a
/// width that is too large.
ResnetShape parse_resnet(const std::string& descriptor);
/// All four fields.
std::string to_descriptor(const ResnetShape& shape);

/// How parameters are learnt.
struct Learning {
  UpdateRule rule = UpdateRule::sgd;
  double momentum = 0.9, weight_decay = 1e-4, coefficient = 1e-3;
  double smoothing = 0;  ///< of labels
  double last_norm = 1;  ///< initial weight of the last normalization of each block
};

/// A step of training: forward, backward and update of `batch` images. `accumulates`: of several
/// batches, whose gradients are added before the update. `lags`: the update takes the gradients of
/// the step before.
Graph training_graph(const ResnetShape& shape, std::int64_t batch, Precision precision,
                     const Learning& learning, bool accumulates = false, bool lags = false);
/// Logits, losses and correct answers of `batch` images, with the moving averages of statistics.
/// Its values `weights`, `stored` and `statistics` are as the training graph's.
Graph inference_graph(const ResnetShape& shape, std::int64_t batch, Precision precision);

}  // namespace assay
