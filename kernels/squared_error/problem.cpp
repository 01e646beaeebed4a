#include "kernels/squared_error/problem.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "kernels/oracle/plain_precision.hpp"

namespace assay {

const std::string& name(SquaredErrorPass pass) {
  static const std::array<std::string, 2> names{"training", "validation"};
  return names.at(static_cast<std::size_t>(pass));
}

SquaredErrorProblem::SquaredErrorProblem(const SquaredErrorShape& shape, SquaredErrorPass pass,
                                         Precision precision)
    : ShapedProblem(shape, precision), pass_(pass) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (shape.samples < 1 || shape.features < 1 || shape.samples > most / shape.features)
    throw InputError(
        fmt::format("the squared error of {} samples and {} features is impossible. Use 1 or more "
                    "of each, and at most 2^40 elements.",
                    shape.samples, shape.features));
}

std::string SquaredErrorProblem::canonical() const {
  return fmt::format("mb{}f{}", shape_.samples, shape_.features);
}

nlohmann::json SquaredErrorProblem::json() const {
  return {{"samples", shape_.samples}, {"features", shape_.features}};
}

std::vector<TensorSpec> SquaredErrorProblem::tensors() const {
  const DataType type = storage(precision_),
                 wide = type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
  const auto [samples, features] = shape_;
  const bool training = pass_ == SquaredErrorPass::training;
  std::vector<TensorSpec> all{plain_tensor("outputs", Role::input, type, {samples, features}),
                              plain_tensor("targets", Role::input, type, {samples, features})};
  if (training) all.push_back(plain_tensor("scale", Role::input, wide, {1}));
  all.push_back(plain_tensor("losses", Role::output, wide, {samples}));
  all.push_back(plain_tensor("correlations", Role::output, wide, {samples}));
  if (training)
    all.push_back(plain_tensor("diff_outputs", Role::output, type, {samples, features}));
  return all;
}

std::optional<std::string> why_not_precision(const SquaredErrorProblem& problem) {
  return why_not_plain(problem.precision(), "a loss",
                       "it stores outputs in fp64, fp32, bf16 or fp16");
}

}  // namespace assay
