// Losses other than that of classes (GraphBuilder::cross_entropy).

#include <stdexcept>

#include "kernels/pixel_loss/problem.hpp"
#include "kernels/squared_error/problem.hpp"
#include "models/network/graph_builder_parts.hpp"

namespace assay {

void GraphBuilder::pixel_cross_entropy(ValueIndex logits, const std::vector<double>& class_weights,
                                       double factor) {
  const PixelLossShape s{batch_, dim(logits, 1), dim(logits, 2), dim(logits, 3)};
  const auto keep = [&](const char* name, DataType type, std::vector<std::int64_t> dims) {
    return add_value(name, type, std::move(dims), Storage::persistent);
  };
  graph_.values[logits].storage = Storage::persistent;
  graph_.logits = logits;
  graph_.labels = keep("labels", DataType::s32, {batch_, s.ih, s.iw});
  graph_.losses = keep("losses", wide_, {batch_});
  graph_.confusion = keep("confusion", DataType::s32, {batch_, s.classes, s.classes});
  const ValueIndex weights = keep("class weights", wide_, {s.classes});
  for (const double weight : class_weights)
    graph_.values[weights].constant.push_back(weight * factor);
  std::map<std::string, ValueIndex> tensors{{"logits", logits},
                                            {"labels", graph_.labels},
                                            {"class_weights", weights},
                                            {"losses", graph_.losses},
                                            {"confusion", graph_.confusion}};
  if (training_) {
    tensors["scale"] = graph_.loss_scale = keep("loss scale", wide_, {1});
    tensors["diff_logits"] = like("grad logits", logits);
    add_gradient(logits, tensors["diff_logits"]);
  }
  const PixelLossPass pass = training_ ? PixelLossPass::training : PixelLossPass::validation;
  add_node("loss", name(pass), Phase::forward, PixelLossProblem(s, pass, precision_),
           &make_pixel_loss_oracle, std::move(tensors), nhwc);
}

void GraphBuilder::squared_error(ValueIndex outputs) {
  const SquaredErrorShape s{batch_, dim(outputs, 1)};
  if (graph_.elements(outputs) != graph_.elements(graph_.images))
    throw std::logic_error("the outputs have other dimensions than the samples");
  const auto keep = [&](const char* name, std::int64_t elements) {
    return add_value(name, wide_, {elements}, Storage::persistent);
  };
  graph_.values[outputs].storage = Storage::persistent;
  graph_.logits = outputs;
  graph_.losses = keep("losses", batch_);
  graph_.correlations = keep("correlations", batch_);
  std::map<std::string, ValueIndex> tensors{{"outputs", outputs},
                                            {"targets", graph_.images},
                                            {"losses", graph_.losses},
                                            {"correlations", graph_.correlations}};
  if (training_) {
    tensors["scale"] = graph_.loss_scale = keep("loss scale", 1);
    tensors["diff_outputs"] = like("grad outputs", outputs);
    add_gradient(outputs, tensors["diff_outputs"]);
  }
  const SquaredErrorPass pass =
      training_ ? SquaredErrorPass::training : SquaredErrorPass::validation;
  add_node("loss", name(pass), Phase::forward, SquaredErrorProblem(s, pass, precision_),
           &make_squared_error_oracle, std::move(tensors));
}

}  // namespace assay
