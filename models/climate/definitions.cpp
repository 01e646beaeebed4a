#include "models/climate/definitions.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/base/error.hpp"

namespace assay {
namespace {

using Node = ReferenceNode;

constexpr std::int64_t classes = 3;

struct Sizes {
  long long height = 0, width = 0, channels = 0, divisor = 0, root = 0;
  InputShape input() const { return {channels, height, width}; }
};

Sizes parse_sizes(const std::string& fields) {
  Sizes s;
  if (std::sscanf(fields.c_str(), "h%lldw%lldc%lldd%lldr%lld", &s.height, &s.width, &s.channels,
                  &s.divisor, &s.root) != 5)
    throw CaseError("'" + fields + "' are not the fields of a climate network");
  return s;
}

/// Frequencies of background, cyclones and rivers (models/network/pixel_classes.hpp).
std::vector<double> define_weights(long long root, double factor) {
  std::vector<double> all;
  for (const double f : {0.986267818390377, 0.0004578708870701058, 0.01327431072255291})
    all.push_back(factor / std::pow(f, 1 / static_cast<double>(root)));
  return all;
}

DefinedInput define_input(const Sizes& s, double factor) {
  return {s.input(), classes, Labels::per_pixel, define_weights(s.root, factor)};
}

/// The loss of a small form: a mean over pixels, with weights by the eighth root.
void small_loss(ReferencePass& pass, const Node& logits) {
  pass.pixel_cross_entropy(logits, define_weights(8, 1),
                           1.0 / static_cast<double>(logits->height * logits->width));
}

/// Parameters, and the bounds of their initial elements if they are not He's bound by the outputs.
class Defined {
 public:
  /// Filters whose initial bound depends on the inputs. `start`: a factor.
  void filters(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t taps,
               double start = 1) {
    before_norm(name, out, in, taps);
    definition_.bounds[name + ".weight"] =
        start * std::sqrt(6.0 / static_cast<double>(in * taps * taps));
  }
  void before_norm(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t taps) {
    definition_.parameters[name + ".weight"] = {out, in, taps, taps};
  }
  void window(const std::string& name, std::int64_t stride, std::int64_t dilation) {
    definition_.windows[name] = {stride, dilation};
  }
  /// Defines a transposed convolution with the stride 2 that keeps the number of channels.
  void upwards(const std::string& name, std::int64_t channels, double start = 1) {
    window(name, 2, 1);
    filters(name, channels, channels, 3, 2 * start);
  }
  void bias(const std::string& name, std::int64_t channels) {
    definition_.parameters[name + ".bias"] = {channels};
  }
  void biased(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t taps,
              double start = 1) {
    filters(name, out, in, taps, start);
    bias(name, out);
  }
  void norm(const std::string& name, std::int64_t channels) {
    definition_.parameters[name + ".weight"] = definition_.parameters[name + ".bias"] = {channels};
  }
  NetworkDefinition finish(DefinedInput input, ReferenceNetwork small) {
    definition_.input = std::move(input);
    definition_.small = std::move(small);
    return std::move(definition_);
  }

 private:
  NetworkDefinition definition_;
};

constexpr std::int64_t small_divisor = 16, small_channels = 4;

// Tiramisu.

constexpr int dense_layers[] = {2, 2, 2, 4, 5};  // the last ones: at the bottom

Defined parameters_of_tiramisu(const Sizes& s) {
  Defined all;
  const std::int64_t growth = 32 / s.divisor;
  const auto add_block = [&](const std::string& name, std::int64_t& channels, int layers) {
    for (int i = 1; i <= layers; ++i, channels += growth)
      all.biased(fmt::format("{}.layer{}", name, i), growth, channels, 5);
  };
  std::int64_t channels = 48 / s.divisor;
  all.biased("first", channels, s.channels, 5);
  std::vector<std::int64_t> skipped;
  for (int i = 0; i < 4; ++i) {
    add_block(fmt::format("down{}", i + 1), channels, dense_layers[i]);
    skipped.push_back(channels);
    const std::string out = fmt::format("down{}.out", i + 1);
    all.biased(out, channels, channels, 1);
    all.window(out, 2, 1);
  }
  add_block("bottom", channels, dense_layers[4]);
  for (int i = 3; i >= 0; --i) {
    const std::int64_t grown = dense_layers[i + 1] * growth;
    all.upwards(fmt::format("up{}.in", i + 1), grown);
    channels = grown + skipped[static_cast<std::size_t>(i)];
    add_block(fmt::format("up{}", i + 1), channels, dense_layers[i]);
  }
  all.biased("logits", classes, channels, 1);
  return all;
}

/// The outputs of the block's layers, with or without the block's input.
Node dense_block(ReferencePass& pass, const std::string& name, const Node& from, int layers,
                 bool with_input) {
  std::vector<Node> all{from};
  for (int i = 1; i <= layers; ++i)
    all.push_back(pass.relu(pass.conv(fmt::format("{}.layer{}", name, i), pass.concat(all),
                                      32 / small_divisor, 5, 1, 1, true)));
  if (!with_input) all.erase(all.begin());
  return pass.concat(all);
}

void train_small_tiramisu(ReferencePass& pass, const Node& images) {
  Node x = pass.relu(pass.conv("first", images, 48 / small_divisor, 5, 1, 1, true));
  std::vector<Node> skips;
  for (int i = 0; i < 4; ++i) {
    const std::string name = fmt::format("down{}", i + 1);
    skips.push_back(dense_block(pass, name, x, dense_layers[i], true));
    x = pass.relu(pass.conv(name + ".out", skips.back(), skips.back()->channels, 1, 2, 1, true));
  }
  Node block = dense_block(pass, "bottom", x, dense_layers[4], false);
  for (int i = 3; i >= 0; --i) {
    const std::string name = fmt::format("up{}", i + 1);
    const Node skip = skips[static_cast<std::size_t>(i)],
               up = pass.deconv(name + ".in", block, block->channels, 3, 2, 1, skip->height,
                                skip->width);
    block = dense_block(pass, name, pass.concat({up, skip}), dense_layers[i], i == 0);
  }
  small_loss(pass, pass.conv("logits", block, classes, 1, 1, 1, true));
}

// DeepLabv3+.

/// The four blocks of ResNet-50 v2.
constexpr int units_of_block[] = {3, 4, 6, 3}, dilation_of_block[] = {1, 1, 2, 4};

/// Defines the strides and dilations that are not 1 (L. Chen et al.,
/// Encoder-Decoder with Atrous Separable Convolution, arXiv:1802.02611: the pyramid of an output
/// stride of 8).
void add_deeplab_windows(Defined& defined) {
  defined.window("conv1", 2, 1);
  for (int b = 0; b < 4; ++b)
    for (int u = 0; u < units_of_block[b]; ++u)
      defined.window(fmt::format("block{}.{}.conv2", b + 1, u), b == 0 && u == 2 ? 2 : 1,
                     dilation_of_block[b]);
  for (const auto& [name, rate] :
       {std::pair{"aspp.conv1", 12}, std::pair{"aspp.conv2", 24}, std::pair{"aspp.conv3", 36}})
    defined.window(name, 1, rate);
}

Defined parameters_of_deeplab(const Sizes& s, bool normalizes) {
  Defined all;
  const double half = normalizes ? 1 : 0.5;
  const auto plain = [&](const std::string& name, std::int64_t out, std::int64_t in,
                         std::int64_t taps, double start = 1) {
    if (normalizes)
      all.before_norm(name, out, in, taps);
    else
      all.filters(name, out, in, taps, start);
  };
  const auto norm = [&](const std::string& name, std::int64_t channels) {
    if (normalizes) all.norm(name, channels);
  };
  const auto active = [&](const std::string& name, std::int64_t out, std::int64_t in,
                          std::int64_t taps) {
    plain(name, out, in, taps, half);
    norm(name + ".norm", out);
  };
  const std::int64_t narrow = 64 / s.divisor, depth = 256 / s.divisor, low = 48 / s.divisor;
  add_deeplab_windows(all);
  plain("conv1", narrow, s.channels, 7);
  std::int64_t in = narrow, inner = narrow;
  for (int b = 0; b < 4; ++b, inner *= 2)
    for (int u = 0; u < units_of_block[b]; ++u) {
      const std::string name = fmt::format("block{}.{}.", b + 1, u);
      norm(name + "pre", in);
      if (u == 0) plain(name + "shortcut", 4 * inner, in, 1);
      active(name + "conv1", inner, in, 1);
      active(name + "conv2", inner, inner, 3);
      plain(name + "conv3", 4 * inner, inner, 1);
      in = 4 * inner;
    }
  norm("post", in);
  for (int i = 0; i < 4; ++i) active(fmt::format("aspp.conv{}", i), depth, in, i == 0 ? 1 : 3);
  all.biased("aspp.pooled", depth, in, 1, half);
  active("aspp.out", depth, 5 * depth, 1);
  active("low", low, narrow, 1);
  active("quarter1", depth, depth + low, 3);
  active("quarter2", depth, depth, 3);
  for (const std::string name : {"up1", "up2", "up3"}) {
    all.upwards(name, depth, half);
    norm(name + ".norm", depth);
  }
  active("input1", narrow, s.channels, 3);
  active("input2", 2 * narrow, narrow, 3);
  active("full1", depth, depth + 2 * narrow, 3);
  active("full2", depth, depth, 3);
  all.biased("logits", classes, depth, 1);
  return all;
}

/// A small DeepLab. Its pyramid has taps 1, 2 and 3 apart.
class SmallDeepLab {
 public:
  SmallDeepLab(ReferencePass& pass, bool normalizes) : pass_(pass), normalizes_(normalizes) {}

  void run(const Node& images) {
    Node x = pass_.max_pool(plain("conv1", images, narrow, 7, 2)), low;
    for (int b = 0; b < 4; ++b)
      for (int u = 0; u < units_of_block[b]; ++u) {
        const bool halves = b == 0 && u == 2;
        x = unit(fmt::format("block{}.{}.", b + 1, u), x, u == 0, narrow << b, halves,
                 dilation_of_block[b], halves ? &low : nullptr);
      }
    x = function("post", x);
    std::vector<Node> branches{active("aspp.conv0", x, depth, 1)};
    for (int i = 1; i < 4; ++i)
      branches.push_back(active(fmt::format("aspp.conv{}", i), x, depth, 3, 1, i));
    const Node pooled = pass_.relu(
        pass_.conv("aspp.pooled", pass_.mean(x), depth, 1, 1, 1, true, normalizes_ ? 1 : half));
    branches.push_back(pass_.resize(pooled, x->height, x->width));
    x = up("up1", active("aspp.out", pass_.concat(branches), depth, 1));
    x = pass_.concat({x, active("low", low, 48 / small_divisor, 1)});
    x = active("quarter2", active("quarter1", x, depth, 3), depth, 3);
    x = up("up3", up("up2", x));
    const Node detail = active("input2", active("input1", images, narrow, 3), 2 * narrow, 3);
    x = active("full1", pass_.concat({x, detail}), depth, 3);
    x = active("full2", x, depth, 3);
    small_loss(pass_, pass_.conv("logits", x, classes, 1, 1, 1, true));
  }

 private:
  static constexpr std::int64_t narrow = 64 / small_divisor, depth = 256 / small_divisor;
  static constexpr double half = 0.5;

  Node plain(const std::string& name, const Node& from, std::int64_t channels, std::int64_t taps,
             std::int64_t stride = 1, std::int64_t dilation = 1, double start = 1) {
    return pass_.conv(name, from, channels, taps, stride, dilation, false, normalizes_ ? 0 : start);
  }
  Node function(const std::string& name, const Node& from, double initial = 1) {
    return pass_.relu(normalizes_ ? pass_.norm(name, from, initial) : from);
  }
  Node active(const std::string& name, const Node& from, std::int64_t channels, std::int64_t taps,
              std::int64_t stride = 1, std::int64_t dilation = 1, double initial = 1) {
    return function(name + ".norm", plain(name, from, channels, taps, stride, dilation, half),
                    initial);
  }
  Node up(const std::string& name, const Node& from) {
    return function(name + ".norm", pass_.deconv(name, from, depth, 3, 2, 1, 2 * from->height,
                                                 2 * from->width, normalizes_ ? 1 : half));
  }
  /// A bottleneck that normalizes and rectifies what it reads.
  Node unit(const std::string& name, const Node& from, bool first, std::int64_t channels,
            bool halves, std::int64_t dilation, Node* low) {
    const Node x = function(name + "pre", from);
    Node shortcut = from;
    if (first) shortcut = plain(name + "shortcut", x, 4 * channels, 1);
    if (halves) shortcut = pass_.max_pool(from, 1);
    const Node inner = active(name + "conv1", x, channels, 1);
    if (low != nullptr) *low = inner;
    const Node y =
        active(name + "conv2", inner, channels, 3, halves ? 2 : 1, dilation, pass_.last_norm());
    return pass_.add(shortcut, plain(name + "conv3", y, 4 * channels, 1));
  }

  ReferencePass& pass_;
  bool normalizes_;
};

}  // namespace

NetworkDefinition define_tiramisu(const std::string& fields) {
  const Sizes s = parse_sizes(fields);
  return parameters_of_tiramisu(s).finish(
      define_input(s, 0.1),
      {{small_channels, 32, 48}, classes, train_small_tiramisu, Labels::per_pixel});
}

NetworkDefinition define_deeplab(const std::string& fields, bool normalizes) {
  const Sizes s = parse_sizes(fields);
  const double pixels = static_cast<double>(s.height) * static_cast<double>(s.width);
  return parameters_of_deeplab(s, normalizes)
      .finish(define_input(s, normalizes ? 1 / pixels : 0.1),
              {{small_channels, 24, 40},
               classes,
               [=](ReferencePass& pass, const Node& images) {
                 SmallDeepLab(pass, normalizes).run(images);
               },
               Labels::per_pixel});
}

}  // namespace assay
