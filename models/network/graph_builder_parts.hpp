#pragma once
// Declarations that the files of GraphBuilder share.

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "models/network/graph_builder.hpp"

namespace assay {

/// Layouts of operations on activations.
inline constexpr const char *nhwc = "nhwc", *nhwc_oihw = "nhwc_oihw";

/// Gradients of parameters have a wide type even if activations are narrow.
inline Precision of_weight_gradients(Precision precision) {
  if (precision == Precision::bf16) return Precision::bf16_fp32;
  return precision == Precision::fp16 ? Precision::fp16_fp32 : precision;
}

/// The sums that a convolution makes for the next normalization.
const SharedArguments& sums_for_norm();

template <class ProblemType, class MakeOracle>
GraphNode& GraphBuilder::add_node(const std::string& layer, const std::string& direction,
                                  Phase phase, ProblemType problem, MakeOracle oracle,
                                  std::map<std::string, ValueIndex> tensors, const char* layout) {
  GraphNode node;
  node.layer = layer;
  node.direction = direction;
  node.phase = phase;
  node.oracle = oracle(problem);
  node.problem = std::make_shared<ProblemType>(std::move(problem));
  node.tensors = std::move(tensors);
  node.layout = layout;
  node.layout_filters_last = node.layout == nhwc_oihw ? nhwc : layout;
  return graph_.nodes.emplace_back(std::move(node));
}

}  // namespace assay
