#include "kernels/norm/problem.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/descriptor.hpp"
#include "kernels/oracle/plain_precision.hpp"

namespace assay {

const NameTable<NormDirection>& get_name_table(NormDirection) {
  static const NameTable<NormDirection> table({"forward_training", "forward_inference", "backward"},
                                              "direction");
  return table;
}
const NameTable<NormFusion>& get_name_table(NormFusion) {
  static const NameTable<NormFusion> table({"none", "relu", "add_relu"}, "fusion");
  return table;
}

NormShape parse_norm(const std::string& descriptor) {
  const DescriptorComplaint complain("norm", descriptor);
  std::map<std::string, std::int64_t> fields =
      read_counts(descriptor, {"mb", "ic", "ih", "iw"}, {"mb", "ic", "ih"}, complain);
  fields.emplace("iw", fields["ih"]);
  const NormShape shape{fields["mb"], fields["ic"], fields["ih"], fields["iw"]};
  product(
      {{"mb", shape.mb}, {"ic", shape.ic}, {"ih", shape.ih}, {"iw", shape.iw}, {"element size", 8}},
      "src in bytes", complain);
  return shape;
}

std::string to_descriptor(const NormShape& shape) {
  std::string text = fmt::format("mb{}ic{}ih{}", shape.mb, shape.ic, shape.ih);
  if (shape.iw != shape.ih) text += fmt::format("iw{}", shape.iw);
  return text;
}

nlohmann::json NormProblem::json() const {
  return {{"mb", shape_.mb}, {"ic", shape_.ic}, {"ih", shape_.ih}, {"iw", shape_.iw}};
}

std::vector<TensorSpec> NormProblem::tensors() const {
  const DataType type = storage(precision_),
                 of_channels = type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
  const bool relu = fusion_ != NormFusion::none, add = fusion_ == NormFusion::add_relu;
  std::vector<TensorSpec> all;
  const auto activations = [&](const char* name, Role role) {
    all.push_back(plain_tensor(name, role, type, {shape_.mb, shape_.ic, shape_.ih, shape_.iw}));
  };
  const auto channels = [&](Role role, std::initializer_list<const char*> names) {
    for (const char* name : names)
      all.push_back(plain_tensor(name, role, of_channels, {shape_.ic}));
  };
  activations("src", Role::input);
  if (direction_ == NormDirection::backward) {
    if (relu) activations("dst", Role::input);
    activations("diff_dst", Role::input);
    channels(Role::input, {"scale", "mean", "variance"});
    activations("diff_src", Role::output);
    channels(Role::output, {"diff_scale", "diff_shift"});
    if (add) activations("diff_addend", Role::output);
    return all;
  }
  if (add) activations("addend", Role::input);
  channels(Role::input, {"scale", "shift"});
  const bool training = direction_ == NormDirection::forward_training;
  if (!training) channels(Role::input, {"mean", "variance"});
  activations("dst", Role::output);
  if (training) channels(Role::output, {"mean", "variance"});
  return all;
}

std::optional<std::string> why_not_precision(const NormProblem& problem) {
  return why_not_stored_alike(problem.precision(), "batch normalization");
}

}  // namespace assay
