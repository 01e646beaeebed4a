// Networks: perceptrons, and residual networks (K. He et al., Deep Residual Learning for Image
// Recognition, with the strides of ResNet v1.5: a bottleneck halves in its 3x3 convolution).
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/base/numbers.hpp"
#include "core/result/formula.hpp"
#include "formulas/epochs.hpp"
#include "formulas/network.hpp"

namespace assay::formula {
namespace {

/// A convolution with its normalization; returns the side of its outputs.
double convolve(Network& all, double in, double out, double taps, double stride, double side) {
  const double side_after = std::ceil(side / stride);
  all.multiply(in, out, taps * taps, side_after * side_after, 2 * out);
  return side_after;
}

struct Block {
  bool bottleneck, first;
  double channels, inner, before, side;  ///< before, side: of its input and output
};

/// A block has one divided layer and one that adds its parts: the output of the second is summed,
/// and backward the input of the first. In a first bottleneck the layer before the block is divided
/// as well, whose gradient nobody needs: two layers add its parts.
void add_sums(SplitSums& sums, const Block& block) {
  if (block.bottleneck && block.first) {
    sums.add(block.inner, block.before);
    sums.add(4 * block.inner, block.side);
    sums.add(4 * block.inner, block.side);
    sums.add(block.inner, block.before);
  } else {
    sums.add(block.inner, block.side);
    sums.add(block.channels, block.before);
  }
}

std::optional<Network> compute_network(const Fields& shape) {
  const double depth = value(shape, "d", 50), width = value(shape, "w", 64),
               classes = value(shape, "c", 1000);
  if (depth != 18 && depth != 50) return std::nullopt;
  const bool bottleneck = depth == 50;
  const std::array<int, 4> blocks = bottleneck ? std::array{3, 4, 6, 3} : std::array{2, 2, 2, 2};
  Network all;
  double side = convolve(all, 3, width, 7, 2, value(shape, "s", 224)), channels = width;
  side = std::ceil(side / 2);  // pooling
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const double inner = std::ldexp(width, static_cast<int>(stage)),
                 outer = bottleneck ? 4 * inner : inner;
    for (int block = 0; block < blocks[stage]; ++block) {
      const double before = side, stride = stage > 0 && block == 0 ? 2 : 1;
      if (bottleneck) {
        convolve(all, channels, inner, 1, 1, before);
        side = convolve(all, inner, inner, 3, stride, before);
        convolve(all, inner, outer, 1, 1, side);
      } else {
        side = convolve(all, channels, inner, 3, stride, before);
        convolve(all, inner, inner, 3, 1, side);
      }
      if (channels != outer || stride != 1) convolve(all, channels, outer, 1, stride, before);
      add_sums(all.sums, {bottleneck, stage == 0 && block == 0, channels, inner, before, side});
      channels = outer;
    }
  }
  all.sums.features = width;
  all.connect(channels, classes);
  return all;
}

/// Momentum and trust coefficient that docs/method-training.md states; no option changes them.
/// rmsprop has no momentum; adam, adamw and lamb have decays of moments.
constexpr double momentum = 0.9, trust_coefficient = 1e-3;

/// Rows of versions older than the option lack it.
double option(const Claims& claims, const char* name, double usual) {
  const std::string text = claims.parameter(name);
  return text.empty() ? usual : std::stod(text);
}
double read_weight_decay(const Claims& claims) { return option(claims, "weight_decay", 1e-4); }

/// "lars_n25557032t161m0.9wd0.0001c0.001"
void check_update(const Claims& claims, const std::string& place, const Network& network) {
  const std::string text = claims.text(place + "/problem"), rule = claims.parameter("optimizer");
  if (rule.empty()) return;
  claims.require(text.starts_with(rule + "_n"), place + "/problem", rule + "_n…",
                 "/parameters/optimizer");
  const Fields numbers = parse_fields(text.substr(rule.size()));
  const double n = value(numbers, "n", 0), padding = 64 * value(numbers, "t", 0);
  claims.require(n >= network.parameters && n <= network.parameters + padding, place + "/problem",
                 fmt::format("{:g} elements or, with padding, a few more", network.parameters),
                 "parameters of the network");
  const bool rms = rule.ends_with("rmsprop"),
             moments = rule.find("adam") != std::string::npos || rule == "lamb",
             adapts = rule == "lars" || rule.starts_with("larc");
  // Gradient, weights and velocity (and second moments) are read; all but the gradient are written,
  // and so are 16-bit copies.
  const std::string precision = claims.parameter("precision"),
                    emulated = claims.parameter("emulate");
  const bool narrow =
      precision == "bf16" || precision == "fp16" || (!emulated.empty() && emulated != "none");
  const double wide = precision == "fp64" ? 8 : 4,
               tensors = (rms || moments ? 7 : 5) * wide + (narrow ? 2 : 0),
               bytes = claims.number(place + "/bytes").value_or(tensors * n);
  claims.require(bytes >= tensors * n && bytes <= tensors * n + 100, place + "/bytes",
                 fmt::format("{:g} and the bytes of a few numbers", tensors * n),
                 "elements of the update");
  const double first = rms       ? 0
                       : moments ? option(claims, "beta1", 0.9)
                                 : momentum,
               second = rms ? option(claims, "alpha", 0.99) : option(claims, "beta2", 0.999),
               epsilon = option(claims, "epsilon", 1e-8), weight_decay = read_weight_decay(claims);
  claims.require((!(rms || moments) ||
                  (value(numbers, "s", -1) == second && value(numbers, "eps", -1) == epsilon)),
                 place + "/problem", fmt::format("s{}eps{}", second, epsilon),
                 "/parameters/beta2, alpha, epsilon");
  claims.require(value(numbers, "m", -1) == first && value(numbers, "wd", -1) == weight_decay &&
                     (!adapts || value(numbers, "c", -1) == trust_coefficient),
                 place + "/problem",
                 fmt::format("m{}wd{}{}", first, weight_decay,
                             adapts ? fmt::format("c{}", trust_coefficient) : ""),
                 "/parameters/weight_decay, docs/method-training.md");
}

/// Adds the time of a layer to the metric of its kind.
void add_seconds(const nlohmann::json& layer, std::map<std::string, double>& metrics) {
  const std::string kind = layer.at("operation"), direction = layer.at("direction");
  const bool alone =
      layer.at("layer") == "loss" || kind == "sum" || kind == "convert";  // of one direction
  if (kind != "update")
    metrics[kind + (alone ? "" : "_" + direction) + "_s"] +=
        layer.at("runs").get<double>() * layer.at("seconds").get<double>();
}

/// Checks the work of a convolution or a matrix product against its own problem.
void check_products(const Claims& claims, const std::string& place, const nlohmann::json& layer) {
  const std::string kind = layer.at("operation"), direction = layer.at("direction"),
                    emulated = claims.parameter("emulate");
  if (kind != "conv" && kind != "gemm") return;
  std::string stored =
      emulated.empty() || emulated == "none" ? claims.parameter("precision") : emulated;
  // Gradients of weights are fp32 for every type of activations, except those of filters if the row
  // says so.
  const bool narrow = kind == "conv" && claims.parameter("weight_gradients") == "16bit";
  if (direction == "bwd_weights" && !narrow && (stored == "bf16" || stored == "fp16"))
    stored += "_fp32";
  for (const auto& [name, amount] : compute_amounts(
           {kind, layer.at("problem"), {{"direction", direction}, {"precision", stored}}}))
    if (name == "flops" || name == "bytes")
      claims.expect(fmt::format("{}/{}", place, name), amount, "the problem of the layer");
}

/// The rows of layers describe one rank, and one run of a layer is one batch.
void check_layers_of_network(const Claims& claims, const Network& network, double passes) {
  const nlohmann::json* const layers = claims.find("/layers");
  const auto flops = claims.number("/problem/flops"), ranks = claims.number("/parameters/ranks");
  if (layers == nullptr || !flops || !ranks) return;
  std::map<std::string, double> seconds;
  double sum = 0;
  bool updates = false;
  for (std::size_t i = 0; i < layers->size(); ++i) {
    const nlohmann::json& layer = (*layers)[i];
    const std::string place = fmt::format("/layers/{}", i);
    const bool update = layer.at("operation") == "update";
    updates = updates || update;
    claims.expect(place + "/runs", update ? 1 : passes,
                  update ? "one update in a step" : "/parameters/accumulate");
    if (update) check_update(claims, place, network);
    check_products(claims, place, layer);
    add_seconds(layer, seconds);
    sum += layer.at("flops").get<double>() * layer.at("runs").get<double>() * *ranks;
  }
  claims.require(updates == (claims.parameter("direction") == "training"), "/parameters/direction",
                 updates ? "training" : "inference", "whether /layers have an update");
  claims.expect("/problem/flops", sum, "flops x runs of all layers, on all ranks");
  for (const auto& [name, total] : seconds)
    claims.expect(fmt::format("/metrics/{}/value", name), total, "runs x seconds of the layers");
}

/// The parts of --parallel, and the number of steps in one run (docs/method-training.md).
struct Way {
  explicit Way(const std::string& text)
      : kind(text.substr(0, text.find(':'))),
        number(kind == text ? 1 : read_number(text.substr(kind.size() + 1))),
        steps(kind == "async" || kind == "stale" || kind == "server" ? 8 : 1) {}
  double with_samples(double ranks) const {
    if (kind == "server") return ranks - number;
    return kind == "pipeline" || kind == "split" ? ranks / number : ranks;
  }

  /// The number in "2", in "2:fill-drain", or in "2*sync".
  static double read_number(const std::string& text) {
    return parse_number(text.substr(0, text.find_first_of(":*"))).value_or(1);
  }

  std::string kind;
  double number, steps;  ///< steps: of a run
};

/// Fields of descriptors, and their names in rows.
using Names = std::vector<std::pair<const char*, const char*>>;

/// Weights, gradients and state that every rank moves. Rows of earlier versions lack these bytes,
/// and so do runs in which some rank does not train the whole network.
void check_traffic(const Claims& claims, const Network& network, double accumulated) {
  const std::string emulated = claims.parameter("emulate"),
                    stored = emulated.empty() || emulated == "none" ? claims.parameter("precision")
                                                                    : emulated;
  const std::string way = claims.parameter("parallel");
  const bool moves_all = way.empty() || way == "sync";
  claims.require(moves_all, "/problem/passes", "none", "/parameters/parallel");
  if (!claims.number("/problem/passes") || !moves_all) {
    claims.expect("/problem/bytes", 0, "/problem/passes, which is missing");
    return;
  }
  const bool training = claims.parameter("direction") == "training";
  const StepTraffic traffic =
      training ? training_traffic(network, claims.parameter("optimizer"), stored, accumulated)
               : inference_traffic(network, stored);
  const std::string origin = "weights, gradients and state of the network, on all ranks";
  claims.expect("/problem/bytes", traffic.bytes * claims.number("/parameters/ranks").value_or(1),
                origin);
  claims.expect("/problem/passes", traffic.passes, origin);
}

void check_network(const Claims& claims, const std::optional<Network>& network, const Fields& shape,
                   const Names& names) {
  const std::string direction = claims.parameter("direction");
  const auto batch = claims.number("/parameters/batch"), ranks = claims.number("/parameters/ranks");
  if (!batch || !ranks || direction.empty()) return;
  for (const auto& [field, name] : names)
    if (shape.contains(field))
      claims.expect(std::string("/problem/") + name, shape.at(field), "the descriptor");
  const bool training = direction == "training";
  const double passes = claims.number("/parameters/accumulate").value_or(1);
  const Way way(claims.parameter("parallel"));
  const double images = *batch * way.with_samples(*ranks) * passes, of_run = images * way.steps;
  const std::string origin = "batch x ranks x accumulate of /parameters, by its parallel";
  claims.expect("/problem/global_batch_size", images, origin);
  claims.expect("/problem/amounts/images_per_s", of_run, origin + ", x the steps of a run");
  if (!network) return;
  // Backward, each product has two counterparts: for the gradients of inputs and of weights.
  const double each = training ? 3 * network->flops - network->first : network->flops;
  claims.expect("/problem/flops", each * of_run, "the network of the descriptor, for all images");
  check_traffic(claims, *network, passes);
  check_parallel(claims, way.kind, way.number, passes, network->sums);
  check_layers_of_network(claims, *network, passes);
  if (!training) return;
  claims.expect("/executed/momentum",
                claims.parameter("optimizer").ends_with("rmsprop") ? 0 : momentum,
                "docs/method-training.md");
  claims.expect("/executed/weight_decay", read_weight_decay(claims), "/parameters/weight_decay");
  claims.expect("/executed/trust_coefficient", trust_coefficient, "docs/method-training.md");
  const nlohmann::json* const loss = claims.find("/metrics/loss_of_last_step");
  claims.require(loss == nullptr || loss->at("value").is_number(), "/metrics/loss_of_last_step",
                 "a number", "training diverged");
  check_epochs(claims, images);
}

void check_resnet50(const Claims& claims) {
  const Fields shape = parse_fields(claims.text("/problem/descriptor"));
  if (!shape.contains("d")) return;
  check_network(claims, compute_network(shape), shape,
                {{"d", "depth"}, {"w", "width"}, {"s", "image_size"}, {"c", "classes"}});
}

/// "mlp:i1024w512l2c10". The work of other networks than these has no formula.
void check_train(const Claims& claims) {
  const std::string text = claims.text("/problem/descriptor");
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return;
  const std::string name = text.substr(0, colon);
  Fields shape = parse_fields(text.substr(colon + 1));
  const double in = value(shape, "i", 0), width = value(shape, "w", 0), out = value(shape, "c", 0);
  std::optional<Network> network;
  Names names{{"i", "inputs"}, {"w", "width"}, {"l", "layers"}, {"c", "classes"}, {"p", "dropped"}};
  if (name == "resnet18" || name == "resnet50") {
    names = {{"w", "width"}, {"s", "image_size"}, {"c", "classes"}};
    shape["d"] = name == "resnet50" ? 50 : 18;
    network = compute_network(shape);
  } else if (name == "mlp") {
    network.emplace().connect(in, width);
    for (double layer = 1; layer < value(shape, "l", 0); ++layer) network->connect(width, width);
    network->connect(width, out);
  } else if (name == "candle-p1b2") {
    network.emplace().connect(in, width);
    network->connect(width, width / 2);
    network->connect(width / 2, width / 4);
    network->connect(width / 4, out);
  } else if (name == "candle-p1b1") {
    names = {{"i", "inputs"}, {"w", "width"}, {"n", "code"}};
    const double code = value(shape, "n", 0);
    network.emplace().connect(in, width);
    network->connect(width, code);
    network->connect(code, width);
    network->connect(width, in);
  } else if (name == "tiramisu" || name == "deeplab" || name == "deepcam") {
    names = {{"h", "height"}, {"w", "width"}, {"c", "channels"}, {"d", "divisor"}, {"r", "root"}};
    network = climate_network(name, shape);
  }
  check_network(claims, network, shape, names);
}

const BenchmarkFormula of_resnet50("resnet50", check_resnet50), of_train("train", check_train);

}  // namespace
}  // namespace assay::formula
