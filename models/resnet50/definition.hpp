#pragma once
// Residual networks as their documentation defines them, apart from resnet.hpp.

#include <string>

#include "models/network/definition.hpp"

namespace assay {

/// Channels, image size and classes of the small form, which has the depth of the network.
inline constexpr std::int64_t small_resnet_width = 8, small_resnet_image = 32,
                              small_resnet_classes = 10;

ReferenceNetwork reference_resnet(std::int64_t depth, std::int64_t width, std::int64_t image,
                                  std::int64_t classes);

/// The network of a case's problem ("d50w64s224c1000"), with torchvision's names of parameters.
NetworkDefinition define_resnet(const std::string& problem);

}  // namespace assay
