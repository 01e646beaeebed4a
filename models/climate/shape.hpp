#pragma once
// Sizes of the networks that find extreme weather in planes of a climate simulation.

#include <cstdint>
#include <vector>

#include "models/network/graph_builder.hpp"

namespace assay {

/// T. Kurth et al., Exascale Deep Learning for Climate Analytics, SC18, arXiv:1810.01993.
struct ClimateShape {
  std::int64_t height = 768, width = 1152, channels = 16;
  std::int64_t divisor = 1;  ///< of the channels of all layers
  std::int64_t root = 2;     ///< a class of frequency f has the weight f^(-1/root) in the loss
  /// The distances of taps in the branches of DeepLab's pyramid are multiples of it.
  std::int64_t rate = 12;
  double factor = 0.1;  ///< of the loss
};

inline constexpr std::int64_t climate_classes = 3;  ///< background, cyclones, rivers

/// Weights of the classes in the loss.
std::vector<double> class_weights(const ClimateShape& shape);

/// The forms that a plain fp64 loop trains; the loss is a mean over pixels.
inline constexpr ClimateShape small_tiramisu{32, 48, 4, 16, 8, 12, 1.0 / (32 * 48)};
inline constexpr ClimateShape small_deeplab{24, 40, 4, 16, 8, 1, 1.0 / (24 * 40)};

/// All layers, from the input to the loss. `normalizes`: batch normalization before each ReLU.
/// `last_norm`: as Learning::last_norm.
void add_tiramisu(GraphBuilder& builder, const ClimateShape& shape);
void add_deeplab(GraphBuilder& builder, const ClimateShape& shape, bool normalizes,
                 double last_norm);

}  // namespace assay
