#include "kernels/activation/problem.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/descriptor.hpp"
#include "kernels/oracle/plain_precision.hpp"

namespace assay {

const NameTable<ActivationDirection>& get_name_table(ActivationDirection) {
  static const NameTable<ActivationDirection> table({"forward", "backward"}, "direction");
  return table;
}
const NameTable<ActivationFunction>& get_name_table(ActivationFunction) {
  static const NameTable<ActivationFunction> table(
      {"identity", "relu", "sigmoid", "tanh", "gelu", "log_sigmoid"}, "function");
  return table;
}

ActivationShape parse_activation(const std::string& descriptor) {
  const DescriptorComplaint complain("activation", descriptor);
  std::map<std::string, std::int64_t> fields =
      read_counts(descriptor, {"mb", "ic", "ih", "iw"}, {"mb", "ic"}, complain);
  fields.emplace("ih", 1);
  fields.emplace("iw", fields["ih"]);
  const ActivationShape shape{fields["mb"], fields["ic"], fields["ih"], fields["iw"]};
  product(
      {{"mb", shape.mb}, {"ic", shape.ic}, {"ih", shape.ih}, {"iw", shape.iw}, {"element size", 8}},
      "src in bytes", complain);
  return shape;
}

std::string to_descriptor(const ActivationShape& shape) {
  std::string text = fmt::format("mb{}ic{}", shape.mb, shape.ic);
  if (shape.ih != 1 || shape.iw != 1) text += fmt::format("ih{}", shape.ih);
  if (shape.iw != shape.ih) text += fmt::format("iw{}", shape.iw);
  return text;
}

nlohmann::json ActivationProblem::json() const {
  return {{"mb", shape_.mb}, {"ic", shape_.ic}, {"ih", shape_.ih}, {"iw", shape_.iw}};
}

const char* ActivationProblem::of_derivative() const {
  if (function_ == ActivationFunction::identity) return nullptr;
  return function_ == ActivationFunction::gelu ? "src" : "dst";
}

std::vector<TensorSpec> ActivationProblem::tensors() const {
  const DataType type = storage(precision_),
                 of_channels = type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
  std::vector<TensorSpec> all;
  const auto activations = [&](const char* name, Role role) {
    all.push_back(plain_tensor(name, role, type, {shape_.mb, shape_.ic, shape_.ih, shape_.iw}));
  };
  const auto channels = [&](const char* name, Role role) {
    if (bias_) all.push_back(plain_tensor(name, role, of_channels, {shape_.ic}));
  };
  if (!backward()) {
    activations("src", Role::input);
    channels("bias", Role::input);
    activations("dst", Role::output);
    return all;
  }
  if (of_derivative() != nullptr) activations(of_derivative(), Role::input);
  if (function_ == ActivationFunction::gelu) channels("bias", Role::input);
  activations("diff_dst", Role::input);
  if (function_ != ActivationFunction::identity) activations("diff_src", Role::output);
  channels("diff_bias", Role::output);
  return all;
}

std::optional<std::string> why_not_precision(const ActivationProblem& problem) {
  if (problem.function() == ActivationFunction::identity && !problem.bias())
    return "the identity without a bias computes nothing. Use --bias channel.";
  return why_not_plain(problem.precision(), "an activation");
}

}  // namespace assay
