// DeepLabv3+ with a decoder at full resolution, on ResNet-50 v2 (K. He et al., Identity Mappings in
// Deep Residual Networks, arXiv:1603.05027) with an output stride of 8.
#include <fmt/format.h>

#include "models/climate/shape.hpp"

namespace assay {
namespace {

struct Stage {
  int units;
  std::int64_t dilation;
};
/// The last unit of the first stage halves the planes; later ones dilate their taps instead.
constexpr Stage stages[] = {{3, 1}, {4, 1}, {6, 2}, {3, 4}};

class DeepLab {
 public:
  DeepLab(GraphBuilder& builder, const ClimateShape& shape, bool normalizes, double last_norm)
      : builder_(builder),
        shape_(shape),
        normalizes_(normalizes),
        start_(normalizes ? 1 : 0.5),
        last_norm_(last_norm) {}

  void add() {
    const ValueIndex images = builder_.images({shape_.channels, shape_.height, shape_.width});
    ValueIndex low = Graph::none;
    const ValueIndex features = encoder(images, low);
    decoder(images, pyramid(features), low);
  }

 private:
  std::int64_t channels(std::int64_t all) const { return all / shape_.divisor; }

  /// A convolution. `start`: used in a network without normalizations.
  ValueIndex plain(const std::string& name, ValueIndex from, std::int64_t channels,
                   std::int64_t taps, std::int64_t stride = 1, std::int64_t dilation = 1,
                   double start = 1) {
    const std::int64_t padding = dilation * (taps / 2);
    if (normalizes_) return builder_.conv(name, from, channels, taps, stride, padding, dilation);
    return builder_.conv(name, from, channels, taps, {stride, padding, dilation, start});
  }
  ValueIndex activated(const std::string& layer, const std::string& norm, ValueIndex from,
                       double initial = 1) {
    if (!normalizes_) return builder_.relu(layer, from);
    return builder_.norm(norm, from, NormFusion::relu, Graph::none, initial);
  }
  /// A convolution and ReLU. Without normalizations its activations are multiplied by 0.5, so that
  /// fp16 does not overflow: max(0.5 w x, 0) = 0.5 max(w x, 0), so that the weights begin with 0.5.
  ValueIndex active(const std::string& name, ValueIndex from, std::int64_t channels,
                    std::int64_t taps, std::int64_t stride = 1, std::int64_t dilation = 1,
                    double initial = 1) {
    return activated(name, name + ".norm",
                     plain(name, from, channels, taps, stride, dilation, start_), initial);
  }
  ValueIndex up(const std::string& name, ValueIndex from, std::int64_t divided) {
    return activated(name, name + ".norm",
                     builder_.deconv(name, from, channels(256), 3, 2, 1, shape_.height / divided,
                                     shape_.width / divided, start_));
  }

  /// `inner`: the result of the unit's first convolution.
  ValueIndex unit(const std::string& name, ValueIndex from, bool first, std::int64_t channels,
                  std::int64_t stride, std::int64_t dilation, ValueIndex& inner) {
    const ValueIndex x = activated(name + ".pre", name + ".pre", from);
    ValueIndex shortcut = from;
    if (first)
      shortcut = plain(name + ".shortcut", x, 4 * channels, 1);
    else if (stride > 1)
      shortcut = builder_.pool(name + ".shortcut", from, PoolMode::max, 1, stride, 0);
    inner = active(name + ".conv1", x, channels, 1);
    const ValueIndex y = active(name + ".conv2", inner, channels, 3, stride, dilation, last_norm_);
    return builder_.add(name + ".sum", shortcut, plain(name + ".conv3", y, 4 * channels, 1));
  }

  /// `low`: features of the first stage, at a quarter of the height and width.
  ValueIndex encoder(ValueIndex images, ValueIndex& low) {
    ValueIndex x = plain("conv1", images, channels(64), 7, 2);
    x = builder_.pool("maxpool", x, PoolMode::max, 3, 2, 1);
    std::int64_t inner = channels(64);
    int number = 0;
    for (const auto& [units, dilation] : stages) {
      ++number;
      ValueIndex first = Graph::none;
      for (int i = 0; i < units; ++i)
        x = unit(fmt::format("block{}.{}", number, i), x, i == 0, inner,
                 number == 1 && i + 1 == units ? 2 : 1, dilation, first);
      if (number == 1) low = first;
      inner *= 2;
    }
    return activated("post", "post", x);
  }

  /// Convolutions whose taps have several distances, and the mean of each plane.
  ValueIndex pyramid(ValueIndex x) {
    const std::int64_t depth = channels(256);
    std::vector<ValueIndex> all{active("aspp.conv0", x, depth, 1)};
    for (const int i : {1, 2, 3})
      all.push_back(active(fmt::format("aspp.conv{}", i), x, depth, 3, 1, i * shape_.rate));
    // A single number for each image and channel has no variance, so a bias replaces the
    // normalization.
    const ValueIndex pooled =
        builder_.conv_biased("aspp.pooled", builder_.mean("aspp.mean", x), depth, 1,
                             {.start = start_}, ActivationFunction::relu);
    all.push_back(builder_.resize("aspp.spread", pooled, shape_.height / 8, shape_.width / 8));
    return active("aspp.out", builder_.concat("aspp.joined", all), depth, 1);
  }

  void decoder(ValueIndex images, ValueIndex x, ValueIndex low) {
    const std::int64_t depth = channels(256);
    x = builder_.concat("quarter", {up("up1", x, 4), active("low", low, channels(48), 1)});
    for (const char* name : {"quarter1", "quarter2"}) x = active(name, x, depth, 3);
    x = up("up3", up("up2", x, 2), 1);
    const ValueIndex beside =
        active("input2", active("input1", images, channels(64), 3), channels(128), 3);
    x = builder_.concat("full", {x, beside});
    for (const char* name : {"full1", "full2"}) x = active(name, x, depth, 3);
    x = builder_.conv_biased("logits", x, climate_classes, 1, {}, ActivationFunction::identity);
    builder_.pixel_cross_entropy(x, class_weights(shape_), shape_.factor);
  }

  GraphBuilder& builder_;
  ClimateShape shape_;
  bool normalizes_;
  double start_, last_norm_;
};

}  // namespace

void add_deeplab(GraphBuilder& builder, const ClimateShape& shape, bool normalizes,
                 double last_norm) {
  DeepLab(builder, shape, normalizes, last_norm).add();
}

}  // namespace assay
