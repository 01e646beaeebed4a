#pragma once
// A small network that has every layer of planes, by a GraphBuilder and by its definition. Planes
// are not square, and their sides are odd once they are halved.

#include <cstdint>

#include "models/network/graph_builder.hpp"
#include "models/network/network.hpp"
#include "models/network/reference_pass.hpp"

namespace assay::network_test {

inline constexpr InputShape layered_input{3, 10, 14};
inline constexpr std::int64_t layered_classes = 5;

/// The faults of a faulty network.
struct LayeredFaults {
  std::int64_t dilation = 2;
  bool reversed_concat = false, last_row_of_deconv = true;
};

inline Network layered_network(double dropped = 0.25, const LayeredFaults& faults = {}) {
  Network network;
  network.family = "layered";
  network.descriptor = "small";
  network.input = layered_input;
  network.classes = layered_classes;
  network.add_layers = [=](GraphBuilder& to, const Learning& learning) {
    using enum ActivationFunction;
    const ValueIndex images = to.images(layered_input),
                     first =
                         to.conv_biased("first", images, 8, 3, {.padding = 1, .start = 0.5}, relu);
    const ValueIndex dilated = to.conv_biased(
        "dilated", first, 4, 3, {.padding = faults.dilation, .dilation = faults.dilation}, tanh);
    const ValueIndex down =
        to.norm("down_bn", to.conv("down", dilated, 8, 3, 2, 2, 2), NormFusion::relu);
    const ValueIndex whole = to.resize(
        "broadcast", to.conv_biased("pooled", to.mean("mean", down), 4, 1, {}, gelu), 5, 7);
    const ValueIndex joined =
        to.dropout("drop",
                   faults.reversed_concat ? to.concat("joined", {whole, down})
                                          : to.concat("joined", {down, whole}),
                   dropped);
    const ValueIndex up =
        to.norm("up_bn", to.deconv("up", joined, 4, 3, 2, 1, 10, 14), NormFusion::relu);
    ValueIndex up2 = to.conv_biased(
        "up2_end", to.deconv("up2", down, 4, 3, 2, 1, faults.last_row_of_deconv ? 10 : 9, 14), 4, 1,
        {}, sigmoid);
    if (!faults.last_row_of_deconv) up2 = to.resize("stretched", up2, 10, 14);
    const ValueIndex wide = to.resize("wide", whole, 10, 14);
    const ValueIndex all = to.dropout("drop2", to.concat("all", {up, up2, dilated, wide}), dropped);
    const ValueIndex last =
        to.conv_biased("last", all, 6, 5, {.stride = 3, .padding = 2}, identity);
    to.classify("fc", to.mean("end", last), layered_classes, learning.smoothing);
  };
  network.make_small = [=] { return layered_network(dropped, faults); };
  return network;
}

inline ReferenceNetwork reference_layered(double dropped = 0.25) {
  return {
      layered_input, layered_classes, [=](ReferencePass& pass, const ReferenceNode& images) {
        using Node = ReferenceNode;
        const Node first = pass.relu(pass.conv("first", images, 8, 3, 1, 1, true, 0.5));
        const Node dilated = pass.tanh(pass.conv("dilated", first, 4, 3, 1, 2, true));
        const Node down = pass.relu(pass.norm("down_bn", pass.conv("down", dilated, 8, 3, 2, 2)));
        const Node whole =
            pass.resize(pass.gelu(pass.conv("pooled", pass.mean(down), 4, 1, 1, 1, true)), 5, 7);
        const Node joined = pass.dropout("drop", pass.concat({down, whole}), dropped);
        const Node up =
            pass.relu(pass.norm("up_bn", pass.deconv("up", joined, 4, 3, 2, 1, 10, 14)));
        const Node up2 = pass.sigmoid(
            pass.conv("up2_end", pass.deconv("up2", down, 4, 3, 2, 1, 10, 14), 4, 1, 1, 1, true));
        const Node all = pass.dropout(
            "drop2", pass.concat({up, up2, dilated, pass.resize(whole, 10, 14)}), dropped);
        const Node last = pass.conv("last", all, 6, 5, 3, 1, true);
        pass.cross_entropy(pass.dense("fc", pass.mean(last), layered_classes));
      }};
}

}  // namespace assay::network_test
