#include "models/resnet50/definition.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace assay {
namespace {

struct Blocks {
  bool deep;  ///< bottlenecks
  int of_stage[4];
};

Blocks make_blocks(std::int64_t depth) {
  return depth == 50 ? Blocks{true, {3, 4, 6, 3}} : Blocks{false, {2, 2, 2, 2}};
}

DefinedParameters define_parameters(std::int64_t depth, std::int64_t width, std::int64_t classes) {
  DefinedParameters all;
  const auto add = [&](const std::string& conv, const std::string& norm, std::int64_t out,
                       std::int64_t in, std::int64_t taps) {
    all[conv + ".weight"] = {out, in, taps, taps};
    all[norm + ".weight"] = all[norm + ".bias"] = {out};
  };
  const auto [deep, blocks] = make_blocks(depth);
  add("conv1", "bn1", width, 3, 7);
  std::int64_t in = width;
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < blocks[stage]; ++i) {
      const std::string name = fmt::format("layer{}.{}.", stage + 1, i);
      const std::int64_t inner = width * (1 << stage), out = deep ? 4 * inner : inner;
      add(name + "conv1", name + "bn1", inner, in, deep ? 1 : 3);
      add(name + "conv2", name + "bn2", inner, inner, 3);
      if (deep) add(name + "conv3", name + "bn3", out, inner, 1);
      if (i == 0 && in != out) add(name + "downsample.0", name + "downsample.1", out, in, 1);
      in = out;
    }
  all["fc.weight"] = {classes, in};
  all["fc.bias"] = {classes};
  return all;
}

std::map<std::string, DefinedWindow> define_windows(std::int64_t depth) {
  std::map<std::string, DefinedWindow> windows{{"conv1", {.stride = 2}}};
  for (const char* stage : {"layer2.0", "layer3.0", "layer4.0"})
    for (const char* layer : {depth == 50 ? ".conv2" : ".conv1", ".downsample.0"})
      windows[std::string(stage) + layer] = {.stride = 2};
  return windows;
}

/// A basic block (depth 18) or a bottleneck (50), with the stride in the 3x3 convolution.
ReferenceNode block(ReferencePass& pass, const std::string& name, const ReferenceNode& input,
                    std::int64_t channels, std::int64_t stride, bool deep, bool changes_shape) {
  const std::int64_t out = deep ? 4 * channels : channels;
  const auto conv = [&](const char* layer, const ReferenceNode& x, std::int64_t to,
                        std::int64_t taps,
                        std::int64_t step) { return pass.conv(name + layer, x, to, taps, step); };
  const auto norm = [&](const char* layer, const ReferenceNode& x, double initial = 1) {
    return pass.norm(name + layer, x, initial);
  };
  ReferenceNode x = input;
  if (deep) {
    x = pass.relu(norm(".bn1", conv(".conv1", x, channels, 1, 1)));
    x = pass.relu(norm(".bn2", conv(".conv2", x, channels, 3, stride)));
    x = norm(".bn3", conv(".conv3", x, out, 1, 1), pass.last_norm());
  } else {
    x = pass.relu(norm(".bn1", conv(".conv1", x, channels, 3, stride)));
    x = norm(".bn2", conv(".conv2", x, out, 3, 1), pass.last_norm());
  }
  const ReferenceNode shortcut =
      changes_shape ? norm(".downsample.1", conv(".downsample.0", input, out, 1, stride)) : input;
  return pass.relu(pass.add(x, shortcut));
}

}  // namespace

ReferenceNetwork reference_resnet(std::int64_t depth, std::int64_t width, std::int64_t image,
                                  std::int64_t classes) {
  return {photograph(image), classes, [=](ReferencePass& pass, const ReferenceNode& images) {
            const auto [deep, blocks] = make_blocks(depth);
            ReferenceNode x = pass.conv("conv1", images, width, 7, 2);
            x = pass.max_pool(pass.relu(pass.norm("bn1", x)));
            for (int stage = 0; stage < 4; ++stage)
              for (int i = 0; i < blocks[stage]; ++i)
                x = block(pass, fmt::format("layer{}.{}", stage + 1, i), x, width << stage,
                          stage > 0 && i == 0 ? 2 : 1, deep, i == 0 && (stage > 0 || deep));
            pass.cross_entropy(pass.dense("fc", pass.mean(x), classes));
          }};
}

NetworkDefinition define_resnet(const std::string& problem) {
  long long depth = 0, width = 0, side = 0, classes = 0;
  if (std::sscanf(problem.c_str(), "d%lldw%llds%lldc%lld", &depth, &width, &side, &classes) != 4)
    throw CaseError(fmt::format("{} is not a residual network", problem));
  return {.input = {photograph(side), classes},
          .parameters = define_parameters(depth, width, classes),
          .small =
              reference_resnet(depth, small_resnet_width, small_resnet_image, small_resnet_classes),
          .windows = define_windows(depth)};
}

}  // namespace assay
