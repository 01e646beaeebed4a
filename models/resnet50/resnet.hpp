#pragma once
// The graphs of residual networks (K. He et al., Deep residual learning for image recognition, CVPR
// 2016), in the form v1.5 of torchvision and MLPerf, with the stride in the 3x3 convolution.

#include <cstdint>
#include <string>

#include "models/network/network.hpp"

namespace assay {

struct ResnetShape {
  int depth = 50;            ///< 18 (basic blocks) or 50 (bottlenecks)
  std::int64_t width = 64;   ///< channels of the first convolution; all others are proportional
  std::int64_t image = 224;  ///< height and width of an image, which has three colours
  std::int64_t classes = 1000;
  bool operator==(const ResnetShape&) const = default;
};

/// Parses "d50w64s224c1000", or its name "resnet50-imagenet"; missing fields have these values.
/// InputError names a field that is unknown, given twice or below 1, an unsupported depth, or a
/// width that is too large.
ResnetShape parse_resnet(const std::string& descriptor);
/// The descriptor with all four fields.
std::string to_descriptor(const ResnetShape& shape);

Network make_resnet(const ResnetShape& shape);

}  // namespace assay
