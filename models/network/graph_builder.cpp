#include <fmt/format.h>

#include <cmath>

#include "kernels/activation/problem.hpp"
#include "kernels/conv_norm/problem.hpp"
#include "kernels/gemm/problem.hpp"
#include "kernels/loss/problem.hpp"
#include "kernels/norm/given_sums.hpp"
#include "kernels/sum/problem.hpp"
#include "models/network/graph_builder_parts.hpp"

namespace assay {
namespace {

/// Elements after which the next part of a block begins: a cache line of 16-bit elements.
constexpr std::int64_t alignment = 32;
std::int64_t align(std::int64_t elements) {
  return (elements + alignment - 1) / alignment * alignment;
}

/// Matrices are by columns: logits are classes x batch, the weights features x classes, the input
/// features x batch.
GemmShape by_columns(std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb) {
  GemmShape shape{m, n, k};
  shape.ta = ta;
  shape.tb = tb;
  shape.lda = shape.a_rows();
  shape.ldb = shape.b_rows();
  shape.ldc = m;
  return shape;
}

std::optional<GraphNode> join_conv_norm(const GraphNode& conv, const GraphNode& norm) {
  if (conv.problem->kind() != ConvProblem::kind_name ||
      problem_cast<ConvProblem>(*conv.problem).direction() != ConvDirection::forward ||
      conv.tensors.at("dst") != norm.tensors.at("src"))
    return std::nullopt;
  const ConvNormProblem problem(conv.problem, norm.problem);
  GraphNode joined = norm;
  joined.layer = conv.layer;
  joined.problem = std::make_shared<ConvNormProblem>(problem);
  joined.oracle = make_conv_norm_oracle(problem);
  joined.join = nullptr;
  for (const char* name : {"src", "weights"}) joined.tensors[name] = conv.tensors.at(name);
  return joined;
}

}  // namespace

const SharedArguments& sums_for_norm() {
  static const SharedArguments sums{
      norm_sums, "beside", {norm_sums_arguments.begin(), norm_sums_arguments.end()}};
  return sums;
}

GraphBuilder::GraphBuilder(std::int64_t batch, Precision precision, bool training,
                           bool narrow_gradients, MaskSeed masks)
    : batch_(batch),
      products_(precision),
      precision_(precision == Precision::tf32 ? Precision::fp32 : precision),
      type_(storage(precision)),
      wide_(type_ == DataType::fp64 ? DataType::fp64 : DataType::fp32),
      training_(training),
      narrow_gradients_(narrow_gradients && type_ != wide_),
      masks_(masks) {
  graph_.precision = precision;
  graph_.weights = add_value("weights", wide_, {0}, Storage::persistent);
  if (type_ != wide_) graph_.stored = add_value("stored weights", type_, {0}, Storage::persistent);
  graph_.batch_statistics = add_value("statistics", wide_, {0}, Storage::persistent);
  if (training_)
    graph_.gradients = graph_.batch_gradients =
        add_value("gradients", wide_, {0}, Storage::persistent);
}

GraphBuilder::GraphBuilder(Graph begun, std::int64_t statistics)
    : batch_(0),
      products_(begun.precision),
      precision_(products_ == Precision::tf32 ? Precision::fp32 : products_),
      type_(storage(products_)),
      wide_(begun.value(begun.weights).type),
      training_(true),
      narrow_gradients_(false),
      graph_(std::move(begun)),
      statistics_(statistics) {}

ValueIndex GraphBuilder::add_value(const std::string& name, DataType type,
                                   std::vector<std::int64_t> dims, Storage storage) {
  graph_.values.push_back({name, type, std::move(dims), storage, 0, 0});
  return graph_.values.size() - 1;
}

ValueIndex GraphBuilder::part(ValueIndex whole, const std::string& name, DataType type,
                              std::vector<std::int64_t> dims, std::int64_t offset) {
  graph_.values.push_back({name, type, std::move(dims), Storage::part, whole, offset});
  return graph_.values.size() - 1;
}

// finish() writes the offsets: they depend on all parameters.
ValueIndex GraphBuilder::add_parameter(const std::string& name,
                                       const std::vector<std::int64_t>& dims, double bound,
                                       double constant) {
  Parameter parameter;
  parameter.name = name;
  parameter.dims = dims;
  parameter.bound = bound;
  parameter.constant = constant;
  parameter.decays = dims.size() > 1;
  const bool small = parameter.decays && type_ != wide_;
  parameter.value =
      part(small ? graph_.stored : graph_.weights, name, small ? type_ : wide_, dims, 0);
  graph_.values[parameter.value].filters = dims.size() == 4;
  if (training_) {
    parameter.gradient = part(graph_.gradients, "grad " + name, wide_, dims, 0);
    graph_.values[parameter.gradient].filters = dims.size() == 4;
  }
  graph_.parameters.push_back(parameter);
  return graph_.parameters.size() - 1;
}

ValueIndex GraphBuilder::like(const std::string& name, ValueIndex like) {
  return add_value(name, type_, graph_.values[like].dims);
}

ValueIndex GraphBuilder::add_up_gradients(ValueIndex value) {
  std::vector<ValueIndex>& all = gradients_.at(value);
  while (all.size() > 1) {
    const ValueIndex a = all[all.size() - 2], b = all.back(),
                     sum = like("grad " + graph_.values[value].name, value);
    all.resize(all.size() - 2);
    all.push_back(sum);
    // Each operation of a layer has a name of its own.
    const std::string which = all.size() > 1 ? fmt::format("sum {}", all.size()) : "sum";
    add_node(graph_.values[value].name, which, Phase::backward,
             SumProblem(graph_.elements(value), precision_), &make_sum_oracle,
             {{"a", a}, {"b", b}, {"dst", sum}});
  }
  return all.front();
}

ValueIndex GraphBuilder::images(const InputShape& shape) {
  graph_.images = add_value("images", type_, {batch_, shape.channels, shape.height, shape.width},
                            Storage::persistent);
  return graph_.images;
}

ValueIndex GraphBuilder::norm(const std::string& layer, ValueIndex from, NormFusion fusion,
                              ValueIndex addend, double initial) {
  const NormShape s{batch_, dim(from, 1), dim(from, 2), dim(from, 3)};
  const std::size_t scale = add_parameter(layer + ".weight", {s.ic}, 0, initial),
                    shift = add_parameter(layer + ".bias", {s.ic}, 0, 0);
  const std::int64_t at = statistics_;
  statistics_ += 2 * align(s.ic);
  graph_.statistics.push_back({layer, s.ic, s.per_channel(), at, at + align(s.ic)});
  const ValueIndex mean = part(graph_.batch_statistics, layer + ".mean", wide_, {s.ic}, at),
                   variance = part(graph_.batch_statistics, layer + ".variance", wide_, {s.ic},
                                   at + align(s.ic)),
                   dst = like(layer, from);
  follow(from, dst);
  std::map<std::string, ValueIndex> tensors{{"src", from},
                                            {"scale", parameter(scale).value},
                                            {"shift", parameter(shift).value},
                                            {"mean", mean},
                                            {"variance", variance},
                                            {"dst", dst}};
  if (fusion == NormFusion::add_relu) tensors["addend"] = addend;
  const NormDirection direction =
      training_ ? NormDirection::forward_training : NormDirection::forward_inference;
  GraphNode& node =
      add_node(layer, "forward", Phase::forward, NormProblem(s, direction, fusion, precision_),
               &make_norm_oracle, std::move(tensors), nhwc);
  if (training_)
    node.takes = &sums_for_norm();
  else
    node.join = &join_conv_norm;
  tape_.emplace_back([=, this] {
    const ValueIndex diff = add_up_gradients(dst),
                     diff_src = like("grad " + graph_.values[from].name, from);
    std::map<std::string, ValueIndex> tensors{{"src", from},
                                              {"diff_dst", diff},
                                              {"scale", parameter(scale).value},
                                              {"mean", mean},
                                              {"variance", variance},
                                              {"diff_src", diff_src},
                                              {"diff_scale", parameter(scale).gradient},
                                              {"diff_shift", parameter(shift).gradient}};
    if (fusion != NormFusion::none) tensors["dst"] = dst;
    if (fusion == NormFusion::add_relu) {
      tensors["diff_addend"] = like("grad " + graph_.values[addend].name, addend);
      add_gradient(addend, tensors["diff_addend"]);
    }
    add_node(layer, "backward", Phase::backward,
             NormProblem(s, NormDirection::backward, fusion, precision_), &make_norm_oracle,
             tensors, nhwc);
    add_gradient(from, diff_src);
  });
  return dst;
}

void GraphBuilder::product(const std::string& layer, ValueIndex from, std::size_t weights,
                           ValueIndex to) {
  const std::int64_t features = dim(parameter(weights).value, 0);
  add_node(layer, "forward", Phase::forward,
           GemmProblem(by_columns(features, batch_, dim(from, 1), true, false), products_),
           &make_gemm_oracle, {{"a", parameter(weights).value}, {"b", from}, {"c", to}});
  sum_over_ranks(divided_.contains(from), to);
}

void GraphBuilder::product_backward(const std::string& layer, ValueIndex from, std::size_t weights,
                                    ValueIndex diff) {
  const std::int64_t features = dim(parameter(weights).value, 0), inputs = dim(from, 1);
  if (from != graph_.images) {
    const ValueIndex diff_src = like("grad " + graph_.values[from].name, from);
    add_node(layer, "bwd_data", Phase::backward,
             GemmProblem(by_columns(inputs, batch_, features, false, false), products_),
             &make_gemm_oracle, {{"a", parameter(weights).value}, {"b", diff}, {"c", diff_src}});
    sum_over_ranks(divided_layers_.contains(layer), diff_src);
    add_gradient(from, diff_src);
  }
  add_node(layer, "bwd_weights", Phase::backward,
           GemmProblem(by_columns(inputs, features, batch_, false, true),
                       of_weight_gradients(products_)),
           &make_gemm_oracle, {{"a", from}, {"b", diff}, {"c", parameter(weights).gradient}});
}

ValueIndex GraphBuilder::activate(const std::string& layer, ValueIndex sums,
                                  ActivationFunction function, std::size_t bias,
                                  std::function<void(ValueIndex)> before) {
  const ActivationShape s{batch_, dim(sums, 1), dim(sums, 2), dim(sums, 3)};
  const std::string called = layer + "." + name(function);
  const ValueIndex dst = like(called, sums);
  follow(sums, dst);
  const bool biased = bias != no_bias;
  std::map<std::string, ValueIndex> forward_tensors{{"src", sums}, {"dst", dst}};
  if (biased) forward_tensors["bias"] = parameter(bias).value;
  add_node(called, "forward", Phase::forward,
           ActivationProblem(s, ActivationDirection::forward, function, biased, precision_),
           &make_activation_oracle, forward_tensors, nhwc);
  tape_.emplace_back([=, this] {
    const ActivationProblem problem(s, ActivationDirection::backward, function, biased, precision_);
    std::map<std::string, ValueIndex> tensors, read = forward_tensors;
    read["diff_dst"] = add_up_gradients(dst);
    if (biased) read["diff_bias"] = parameter(bias).gradient;
    ValueIndex diff = read.at("diff_dst");
    for (const TensorSpec& tensor : problem.tensors())
      tensors[tensor.name] =
          tensor.name == "diff_src" ? diff = like("grad " + layer, sums) : read.at(tensor.name);
    add_node(called, "backward", Phase::backward, problem, &make_activation_oracle,
             std::move(tensors), nhwc);
    before(diff);
  });
  return dst;
}

ValueIndex GraphBuilder::dense(const std::string& layer, ValueIndex from, std::int64_t features,
                               ActivationFunction function, DenseStart start) {
  features = own_part(layer, features);
  const auto inputs = static_cast<double>(dim(from, 1)), outputs = static_cast<double>(features);
  const bool glorot = start == DenseStart::glorot;
  const double bound = glorot ? std::sqrt(6 / (inputs + outputs)) : 1 / std::sqrt(inputs);
  const std::size_t weights = add_parameter(layer + ".weight", {features, dim(from, 1)}, bound, 0),
                    bias = add_parameter(layer + ".bias", {features}, glorot ? 0 : bound, 0);
  const ValueIndex sums = add_value(layer, type_, {batch_, features, 1, 1});
  product(layer, from, weights, sums);
  follow(from, sums, layer);
  return activate(layer, sums, function, bias,
                  [=, this](ValueIndex diff) { product_backward(layer, from, weights, diff); });
}

void GraphBuilder::classify(const std::string& layer, ValueIndex from, std::int64_t classes,
                            double smoothing) {
  const double bound = 1 / std::sqrt(static_cast<double>(dim(from, 1)));
  const std::size_t weights = add_parameter(layer + ".weight", {classes, dim(from, 1)}, bound, 0),
                    bias = add_parameter(layer + ".bias", {classes}, bound, 0);
  const ValueIndex logits = add_value("logits", type_, {batch_, classes});
  product(layer, from, weights, logits);
  tape_.emplace_back(
      [=, this] { product_backward(layer, from, weights, add_up_gradients(logits)); });
  graph_.logits_bias = parameter(bias).value;
  add_loss(logits, smoothing, &parameter(bias));
}

void GraphBuilder::cross_entropy(ValueIndex logits, double smoothing) {
  add_loss(logits, smoothing, nullptr);
}

void GraphBuilder::add_loss(ValueIndex logits, double smoothing, const Parameter* bias) {
  const std::int64_t classes = dim(logits, 1);
  graph_.values[logits].storage = Storage::persistent;
  graph_.logits = logits;
  graph_.labels = add_value("labels", DataType::s32, {batch_}, Storage::persistent);
  graph_.losses = add_value("losses", wide_, {batch_}, Storage::persistent);
  graph_.correct = add_value("correct", DataType::s32, {batch_}, Storage::persistent);
  std::map<std::string, ValueIndex> tensors{{"logits", logits},
                                            {"labels", graph_.labels},
                                            {"losses", graph_.losses},
                                            {"correct", graph_.correct}};
  if (bias != nullptr) tensors["bias"] = bias->value;
  if (training_) {
    graph_.loss_scale = add_value("loss scale", wide_, {1}, Storage::persistent);
    tensors["scale"] = graph_.loss_scale;
    tensors["diff_logits"] = like("grad logits", logits);
    if (bias != nullptr) tensors["diff_bias"] = bias->gradient;
    add_gradient(logits, tensors["diff_logits"]);
  }
  add_node("loss", training_ ? "training" : "validation", Phase::forward,
           LossProblem({batch_, classes, smoothing, bias != nullptr},
                       training_ ? LossPass::training : LossPass::validation, precision_),
           &make_loss_oracle, std::move(tensors));
}

void GraphBuilder::backward() {
  for (std::size_t i = tape_.size(); i-- > 0;) tape_[i]();
  tape_.clear();
}

std::int64_t GraphBuilder::all_elements() const {
  std::int64_t all = 0;
  for (const Parameter& parameter : graph_.parameters) all += align(parameter.elements());
  return all;
}

void GraphBuilder::accumulate() {
  graph_.gradients = add_value("sum of gradients", wide_, {0}, Storage::persistent);
  add_node(
      "parameters", "accumulate", Phase::accumulate,
      SumProblem(all_elements(), wide_ == DataType::fp64 ? Precision::fp64 : Precision::fp32, true),
      &make_sum_oracle, {{"a", graph_.gradients}, {"b", graph_.batch_gradients}});
}

void GraphBuilder::update(UpdateShape rule, bool lags) {
  rule.tensors.clear();
  for (std::size_t i = graph_.parameters.size(); i-- > 0;) {
    const Parameter& parameter = graph_.parameters[i];
    rule.tensors.push_back({parameter.elements(), parameter.decays, parameter.decays});
    // The padding to a cache line is and remains 0.
    if (const std::int64_t rest = align(parameter.elements()) - parameter.elements(); rest > 0)
      rule.tensors.push_back({rest, false, false});
  }
  if (lags)
    graph_.lagged = add_value("gradients of the step before", wide_, {0}, Storage::persistent);
  graph_.velocity = add_value("velocity", wide_, {0}, Storage::persistent);
  graph_.rate = add_value("rate", wide_, {1}, Storage::persistent);
  graph_.unscale = add_value("unscale", wide_, {1}, Storage::persistent);
  graph_.norms = add_value("norms", DataType::fp64, {2}, Storage::persistent);
  graph_.counts = add_value("counts", DataType::fp64, {3}, Storage::persistent);
  std::map<std::string, ValueIndex> tensors{{"gradient", lags ? graph_.lagged : graph_.gradients},
                                            {"rate", graph_.rate},
                                            {"unscale", graph_.unscale},
                                            {"weights", graph_.weights},
                                            {"velocity", graph_.velocity},
                                            {"norms", graph_.norms},
                                            {"counts", graph_.counts}};
  if (graph_.stored != Graph::none) tensors["stored"] = graph_.stored;
  if (find_loop(rule.rule) != UpdateLoop::momentum)
    tensors["second"] = graph_.second =
        add_value("second moments", wide_, {0}, Storage::persistent);
  if (find_loop(rule.rule) == UpdateLoop::moments)
    tensors["step"] = graph_.step = add_value("update", wide_, {1}, Storage::persistent);
  add_node("parameters", "update", Phase::update, UpdateProblem(std::move(rule), precision_),
           &make_update_oracle, std::move(tensors));
}

Graph GraphBuilder::finish() {
  std::int64_t at = 0;
  for (std::size_t i = graph_.parameters.size(); i-- > 0;) {
    Parameter& parameter = graph_.parameters[i];
    parameter.offset = at;
    graph_.values[parameter.value].offset = at;
    if (training_) graph_.values[parameter.gradient].offset = at;
    at += align(parameter.elements());
  }
  for (const ValueIndex all :
       {graph_.weights, graph_.stored, graph_.gradients, graph_.batch_gradients, graph_.lagged,
        graph_.velocity, graph_.second})
    if (all != Graph::none) graph_.values[all].dims = {at};
  graph_.values[graph_.batch_statistics].dims = {statistics_};
  return std::move(graph_);
}

}  // namespace assay
