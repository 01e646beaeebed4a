// Layers of planes: convolutions, pooling, resizing, concatenation, dropout.
#include <fmt/format.h>

#include <cmath>

#include "kernels/concat/problem.hpp"
#include "kernels/conv/problem.hpp"
#include "kernels/convert/problem.hpp"
#include "kernels/dropout/problem.hpp"
#include "kernels/pool/problem.hpp"
#include "kernels/resize/problem.hpp"
#include "models/network/graph_builder_parts.hpp"

namespace assay {
namespace {

/// The fields of the batch and its planes.
std::string planes(std::int64_t batch, std::int64_t channels, std::int64_t height,
                   std::int64_t width) {
  return fmt::format("mb{}ic{}ih{}iw{}", batch, channels, height, width);
}

/// A window of taps x taps, with the same distances in both directions.
std::string square_window(std::int64_t taps, std::int64_t stride, std::int64_t padding,
                          std::int64_t dilation = 1) {
  std::string text;
  for (const char axis : {'h', 'w'}) {
    text += fmt::format("k{0}{1}s{0}{2}p{0}{3}", axis, taps, stride, padding);
    if (dilation > 1) text += fmt::format("d{}{}", axis, dilation - 1);
  }
  return text;
}

double fan_in(const ConvShape& s) { return static_cast<double>(s.ic * s.kh * s.kw); }

}  // namespace

std::int64_t mask_key(const std::string& layer, const MaskSeed& mask) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : fmt::format("{} {}", layer, mask.seed))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return std::int64_t{mask.rank} << 32 | static_cast<std::int64_t>(hash & 0xffffffff);
}

void GraphBuilder::add_product(const std::string& layer, const std::string& direction, Phase phase,
                               const ConvShape& s, bool transposed, ValueIndex from,
                               std::size_t filters, ValueIndex to) {
  add_node(layer, direction, phase,
           ConvProblem(s, transposed ? ConvDirection::bwd_data : ConvDirection::forward, products_),
           &make_conv_oracle,
           {{transposed ? "diff_dst" : "src", from},
            {"weights", parameter(filters).value},
            {transposed ? "diff_src" : "dst", to}},
           nhwc_oihw)
      .gives = transposed ? nullptr : &sums_for_norm();
}

ValueIndex GraphBuilder::convolve(const std::string& layer, ValueIndex from, const ConvShape& s,
                                  bool transposed, double bound,
                                  std::optional<ActivationFunction> function) {
  const std::size_t filters = add_parameter(layer + ".weight", {s.oc, s.ic, s.kh, s.kw}, bound, 0);
  const ValueIndex dst = transposed ? add_value(layer, type_, {batch_, s.ic, s.ih, s.iw})
                                    : add_value(layer, type_, {batch_, s.oc, s.oh, s.ow});
  follow(from, dst, layer);
  add_product(layer, "forward", Phase::forward, s, transposed, from, filters, dst);
  sum_over_ranks(divided_.contains(from), dst);
  return add_activation(layer, dst, function, [=, this](ValueIndex diff) {
    // The gradient by data comes first, because the rest of the pass waits for it.
    if (from != graph_.images) {
      const ValueIndex diff_src = like("grad " + graph_.values[from].name, from);
      add_product(layer, "bwd_data", Phase::backward, s, !transposed, diff, filters, diff_src);
      sum_over_ranks(divided_layers_.contains(layer), diff_src);
      add_gradient(from, diff_src);
    }
    filter_gradient(layer, s, transposed ? diff : from, transposed ? from : diff, filters);
  });
}

void GraphBuilder::filter_gradient(const std::string& layer, const ConvShape& s, ValueIndex src,
                                   ValueIndex diff, std::size_t filters) {
  const ValueIndex wide = parameter(filters).gradient;
  const std::int64_t elements = parameter(filters).elements();
  const ValueIndex value = narrow_gradients_ ? add_value("narrow grad " + layer + ".weight", type_,
                                                         parameter(filters).dims)
                                             : wide;
  graph_.values[value].filters = true;
  add_node(layer, "bwd_weights", Phase::backward,
           ConvProblem(s, ConvDirection::bwd_weights,
                       narrow_gradients_ ? products_ : of_weight_gradients(products_)),
           &make_conv_oracle, {{"src", src}, {"diff_dst", diff}, {"diff_weights", value}},
           nhwc_oihw);
  if (narrow_gradients_)
    add_node(layer, "convert", Phase::backward,
             ConvertProblem(elements, of_weight_gradients(products_)), &convert_oracle,
             {{"src", value}, {"dst", wide}});
}

ConvShape GraphBuilder::conv_shape(ValueIndex from, std::int64_t channels, std::int64_t taps,
                                   const ConvOptions& options) const {
  return parse_conv(planes(batch_, dim(from, 1), dim(from, 2), dim(from, 3)) +
                    fmt::format("oc{}", channels) +
                    square_window(taps, options.stride, options.padding, options.dilation));
}

ValueIndex GraphBuilder::add_activation(const std::string& layer, ValueIndex sums,
                                        std::optional<ActivationFunction> function,
                                        std::function<void(ValueIndex)> before) {
  if (function)
    return activate(layer, sums, *function, add_parameter(layer + ".bias", {dim(sums, 1)}, 0, 0),
                    std::move(before));
  tape_.emplace_back([=, this] { before(add_up_gradients(sums)); });
  return sums;
}

ValueIndex GraphBuilder::conv(const std::string& layer, ValueIndex from, std::int64_t channels,
                              std::int64_t taps, std::int64_t stride, std::int64_t padding,
                              std::int64_t dilation) {
  channels = own_part(layer, channels);
  return convolve(layer, from, conv_shape(from, channels, taps, {stride, padding, dilation}), false,
                  std::sqrt(6 / static_cast<double>(channels * taps * taps)), std::nullopt);
}

ValueIndex GraphBuilder::conv(const std::string& layer, ValueIndex from, std::int64_t channels,
                              std::int64_t taps, const ConvOptions& options) {
  const ConvShape s = conv_shape(from, own_part(layer, channels), taps, options);
  return convolve(layer, from, s, false, options.start * std::sqrt(6 / fan_in(s)), std::nullopt);
}

ValueIndex GraphBuilder::conv_biased(const std::string& layer, ValueIndex from,
                                     std::int64_t channels, std::int64_t taps,
                                     const ConvOptions& options, ActivationFunction function) {
  const ConvShape s = conv_shape(from, own_part(layer, channels), taps, options);
  return convolve(layer, from, s, false, options.start * std::sqrt(6 / fan_in(s)), function);
}

ValueIndex GraphBuilder::deconv(const std::string& layer, ValueIndex from, std::int64_t channels,
                                std::int64_t taps, std::int64_t stride, std::int64_t padding,
                                std::int64_t height, std::int64_t width, double start) {
  // The convolution whose backward pass by data this is.
  const ConvShape s =
      parse_conv(planes(batch_, own_part(layer, channels), height, width) +
                 fmt::format("oc{}oh{}ow{}", dim(from, 1), dim(from, 2), dim(from, 3)) +
                 square_window(taps, stride, padding));
  const auto products = static_cast<double>(s.oc * s.kh * s.kw),
             share = static_cast<double>(s.sh * s.sw);
  return convolve(layer, from, s, true, start * std::sqrt(6 * share / products), std::nullopt);
}

ValueIndex GraphBuilder::pool(const std::string& layer, ValueIndex from, PoolMode mode,
                              std::int64_t taps, std::int64_t stride, std::int64_t padding) {
  return pool(layer, from, mode,
              parse_pool(planes(batch_, dim(from, 1), dim(from, 2), dim(from, 3)) +
                         square_window(taps, stride, padding)));
}

ValueIndex GraphBuilder::mean(const std::string& layer, ValueIndex from) {
  const std::int64_t height = dim(from, 2), width = dim(from, 3);
  return pool(layer, from, PoolMode::average,
              parse_pool(planes(batch_, dim(from, 1), height, width) +
                         fmt::format("kh{}kw{}", height, width)));
}

ValueIndex GraphBuilder::pool(const std::string& layer, ValueIndex from, PoolMode mode,
                              const PoolShape& s) {
  const ValueIndex dst = add_value(layer, type_, {batch_, s.ic, s.oh, s.ow});
  follow(from, dst);
  add_node(
      layer, "forward", Phase::forward,
      PoolProblem(s, training_ ? PoolDirection::forward_training : PoolDirection::forward_inference,
                  mode, precision_),
      &make_pool_oracle, {{"src", from}, {"dst", dst}}, nhwc);
  tape_.emplace_back([=, this] {
    const ValueIndex diff = add_up_gradients(dst),
                     diff_src = like("grad " + graph_.values[from].name, from);
    std::map<std::string, ValueIndex> tensors{{"diff_dst", diff}, {"diff_src", diff_src}};
    if (mode == PoolMode::max) tensors["src"] = from;
    add_node(layer, "backward", Phase::backward,
             PoolProblem(s, PoolDirection::backward, mode, precision_), &make_pool_oracle, tensors,
             nhwc);
    add_gradient(from, diff_src);
  });
  return dst;
}

ValueIndex GraphBuilder::concat(const std::string& layer, const std::vector<ValueIndex>& from) {
  ConcatShape s{batch_, dim(from.front(), 2), dim(from.front(), 3), {}};
  std::map<std::string, ValueIndex> tensors;
  for (const ValueIndex input : from) {
    tensors[fmt::format("src{}", s.channels.size())] = input;
    s.channels.push_back(dim(input, 1));
  }
  const ConcatProblem forward(s, ConcatDirection::forward, precision_);
  const ValueIndex dst = tensors["dst"] =
      add_value(layer, type_, {batch_, forward.channels(), s.ih, s.iw});
  add_node(layer, "forward", Phase::forward, forward, &make_concat_oracle, std::move(tensors),
           nhwc);
  tape_.emplace_back([=, this] {
    std::map<std::string, ValueIndex> gradients{{"diff_dst", add_up_gradients(dst)}};
    for (std::size_t i = 0; i < from.size(); ++i) {
      const ValueIndex part = like("grad " + graph_.values[from[i]].name, from[i]);
      gradients[fmt::format("diff_src{}", i)] = part;
      add_gradient(from[i], part);
    }
    add_node(layer, "backward", Phase::backward,
             ConcatProblem(s, ConcatDirection::backward, precision_), &make_concat_oracle,
             std::move(gradients), nhwc);
  });
  return dst;
}

ValueIndex GraphBuilder::resize(const std::string& layer, ValueIndex from, std::int64_t height,
                                std::int64_t width) {
  const ResizeShape s{batch_, dim(from, 1), dim(from, 2), dim(from, 3), height, width};
  const auto problem = [=, this](ResizeDirection direction) {
    return ResizeProblem(s, direction, ResizeCoordinates::half_pixel, precision_);
  };
  const ValueIndex dst = add_value(layer, type_, {batch_, s.ic, height, width});
  follow(from, dst);
  add_node(layer, "forward", Phase::forward, problem(ResizeDirection::forward), &make_resize_oracle,
           {{"src", from}, {"dst", dst}}, nhwc);
  tape_.emplace_back([=, this] {
    const ValueIndex diff = add_up_gradients(dst),
                     diff_src = like("grad " + graph_.values[from].name, from);
    add_node(layer, "backward", Phase::backward, problem(ResizeDirection::backward),
             &make_resize_oracle, {{"diff_dst", diff}, {"diff_src", diff_src}}, nhwc);
    add_gradient(from, diff_src);
  });
  return dst;
}

ValueIndex GraphBuilder::dropout(const std::string& layer, ValueIndex from, double p) {
  if (!training_ || p == 0) return from;
  if (graph_.passes == Graph::none)
    graph_.passes = add_value("passes", DataType::s32, {1}, Storage::persistent);
  const DropoutShape s{batch_, dim(from, 1),           dim(from, 2), dim(from, 3),
                       p,      mask_key(layer, masks_)};
  const ValueIndex dst = like(layer, from);
  add_node(layer, "forward", Phase::forward,
           DropoutProblem(s, DropoutDirection::forward, precision_), &make_dropout_oracle,
           {{"src", from}, {"counter", graph_.passes}, {"dst", dst}}, nhwc);
  tape_.emplace_back([=, this] {
    const ValueIndex diff = add_up_gradients(dst),
                     diff_src = like("grad " + graph_.values[from].name, from);
    add_node(layer, "backward", Phase::backward,
             DropoutProblem(s, DropoutDirection::backward, precision_), &make_dropout_oracle,
             {{"diff_dst", diff}, {"counter", graph_.passes}, {"diff_src", diff_src}}, nhwc);
    add_gradient(from, diff_src);
  });
  return dst;
}

}  // namespace assay
