#include "formulas/network.hpp"

#include <array>
#include <vector>

namespace assay::formula {

void Network::multiply(double in, double out, double taps, double pixels, double others) {
  const double products = in * out * taps, work = 2 * products * pixels;
  if (flops == 0) {
    first = work;
    first_weights = products;
  }
  flops += work;
  weights += products;
  parameters += products + others;
}

namespace {

/// S. Jegou et al., The One Hundred Layers Tiramisu, in the version of the exaflop run.
Network tiramisu(double pixels, double channels, double divisor) {
  constexpr std::array layers{2, 2, 2, 4, 5};  // the last ones: at the bottom
  const double growth = 32 / divisor;
  Network all;
  double width = 48 / divisor;
  all.multiply(channels, width, 25, pixels, width);
  const auto block = [&](int count, double on) {
    for (int i = 0; i < count; ++i, width += growth) all.multiply(width, growth, 25, on, growth);
  };
  std::vector<double> skipped;
  double plane = pixels;
  for (std::size_t level = 0; level < 4; ++level) {
    block(layers[level], plane);
    skipped.push_back(width);
    plane /= 4;
    all.multiply(width, width, 1, plane, width);
  }
  block(layers[4], plane);
  for (std::size_t level = 4; level-- > 0; plane *= 4) {
    const double grown = layers[level + 1] * growth;
    all.multiply(grown, grown, 9, plane);  // upsampling: counted by the pixels that it reads
    width = grown + skipped[level];
    block(layers[level], 4 * plane);
  }
  all.multiply(width, 3, 1, pixels, 3);
  return all;
}

/// DeepLabv3+ on ResNet-50 v2. `norms`: each ReLU has a scale and a shift for every channel.
Network deeplab(double pixels, double channels, double divisor, double norms) {
  const double narrow = 64 / divisor, depth = 256 / divisor, low = 48 / divisor,
               eighth = pixels / 64, quarter = pixels / 16;
  Network all;
  const auto active = [&](double in, double out, double taps, double on) {
    all.multiply(in, out, taps, on, norms * out);
  };
  all.multiply(channels, narrow, 49, pixels / 4);
  constexpr std::array units{3, 4, 6, 3};
  double width = narrow, inner = narrow;
  for (std::size_t stage = 0; stage < units.size(); ++stage, inner *= 2)
    for (int unit = 0; unit < units[stage]; ++unit) {
      const bool halves = stage == 0 && unit == 2;
      const double before = stage == 0 ? quarter : eighth, after = halves ? eighth : before;
      all.parameters += norms * width;
      if (unit == 0) all.multiply(width, 4 * inner, 1, before);
      active(width, inner, 1, before);
      active(inner, inner, 9, after);
      all.multiply(inner, 4 * inner, 1, after);
      width = 4 * inner;
    }
  all.parameters += norms * width;
  for (const double taps : {1, 9, 9, 9}) active(width, depth, taps, eighth);
  all.multiply(width, depth, 1, 1, depth);  // of the means of the planes
  active(5 * depth, depth, 1, eighth);
  active(narrow, low, 1, quarter);
  active(depth, depth, 9, eighth);  // upwards
  active(depth + low, depth, 9, quarter);
  active(depth, depth, 9, quarter);
  for (const double on : {quarter, 4 * quarter}) active(depth, depth, 9, on);  // upwards
  const double of_input = channels * narrow * 9;
  all.first += 2 * of_input * pixels;
  all.first_weights += of_input;
  active(channels, narrow, 9, pixels);
  active(narrow, 2 * narrow, 9, pixels);
  active(depth + 2 * narrow, depth, 9, pixels);
  active(depth, depth, 9, pixels);
  all.multiply(depth, 3, 1, pixels, 3);
  return all;
}

}  // namespace

std::optional<Network> climate_network(const std::string& name, const Fields& shape) {
  const double pixels = value(shape, "h", 768) * value(shape, "w", 1152),
               channels = value(shape, "c", 16), divisor = value(shape, "d", 1);
  if (name == "tiramisu") return tiramisu(pixels, channels, divisor);
  if (name == "deeplab") return deeplab(pixels, channels, divisor, 0);
  if (name == "deepcam") return deeplab(pixels, channels, divisor, 2);
  return std::nullopt;
}

StepTraffic training_traffic(const Network& network, const std::string& optimizer,
                             const std::string& stored, double accumulated) {
  const ElementBytes bytes = element_bytes(stored);
  const bool two_moments = optimizer.ends_with("rmsprop") || optimizer == "lamb" ||
                           optimizer.find("adam") != optimizer.npos,
             adds = accumulated > 1;
  // Weights forward and backward, and their gradients; several passes add these to a sum.
  const double of_pass = bytes.input * (2 * network.weights - network.first_weights) +
                         bytes.wide * network.weights +
                         (adds ? 3 * bytes.wide * network.parameters : 0),
               // The gradient; weights and moments, read and written; 16-bit copies of weights.
      of_update = network.parameters *
                  (bytes.wide * (two_moments ? 7 : 5) + (bytes.input == 2 ? bytes.input : 0));
  return {accumulated * of_pass + of_update, accumulated * (adds ? 5 : 3) + 2};
}

StepTraffic inference_traffic(const Network& network, const std::string& stored) {
  return {element_bytes(stored).input * network.weights, 1};
}

}  // namespace assay::formula
