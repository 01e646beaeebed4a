#include "kernels/loss/problem.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "kernels/oracle/plain_precision.hpp"

namespace assay {

const std::string& name(LossPass pass) {
  static const std::array<std::string, 2> names{"training", "validation"};
  return names.at(static_cast<std::size_t>(pass));
}

LossProblem::LossProblem(const LossShape& shape, LossPass pass, Precision precision)
    : ShapedProblem(shape, precision), pass_(pass) {
  if (shape.samples < 1 || shape.classes < 1 || shape.classes > std::int64_t{1} << 30)
    throw InputError(
        fmt::format("a loss of {} samples and {} classes is impossible. Use 1 or more of each, and "
                    "at most 2^30 classes.",
                    shape.samples, shape.classes));
  if (!(shape.smoothing >= 0 && shape.smoothing < 1))
    throw InputError(
        fmt::format("label smoothing {} is not in [0, 1). Use for example 0.1.", shape.smoothing));
}

std::string LossProblem::canonical() const {
  std::string text = fmt::format("mb{}c{}", shape_.samples, shape_.classes);
  if (shape_.smoothing != 0) text += fmt::format("ls{}", shape_.smoothing);
  if (!shape_.biased) text += "nobias";
  return text;
}

nlohmann::json LossProblem::json() const {
  nlohmann::json fields{
      {"samples", shape_.samples}, {"classes", shape_.classes}, {"smoothing", shape_.smoothing}};
  if (!shape_.biased) fields["bias"] = false;
  return fields;
}

std::vector<TensorSpec> LossProblem::tensors() const {
  const DataType type = storage(precision_),
                 wide = type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
  const auto [samples, classes, smoothing, biased] = shape_;
  const bool training = pass_ == LossPass::training;
  std::vector<TensorSpec> all{plain_tensor("logits", Role::input, type, {samples, classes})};
  if (biased) all.push_back(plain_tensor("bias", Role::input, wide, {classes}));
  all.push_back(plain_tensor("labels", Role::input, DataType::s32, {samples}));
  if (training) all.push_back(plain_tensor("scale", Role::input, wide, {1}));
  all.push_back(plain_tensor("losses", Role::output, wide, {samples}));
  all.push_back(plain_tensor("correct", Role::output, DataType::s32, {samples}));
  if (!training) return all;
  all.push_back(plain_tensor("diff_logits", Role::output, type, {samples, classes}));
  if (biased) all.push_back(plain_tensor("diff_bias", Role::output, wide, {classes}));
  return all;
}

std::optional<std::string> why_not_precision(const LossProblem& problem) {
  return why_not_plain(problem.precision(), "a loss",
                       "it stores logits in fp64, fp32, bf16 or fp16");
}

}  // namespace assay
