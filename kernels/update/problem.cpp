#include "kernels/update/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/name_table.hpp"

namespace assay {
namespace {

const NameTable<UpdateRule>& rules() {
  static const NameTable<UpdateRule> table({"sgd", "lars", "larc"});
  return table;
}

}  // namespace

const std::vector<std::string>& update_rule_names() { return rules().names(); }
const std::string& name(UpdateRule rule) { return rules()[rule]; }
UpdateRule update_rule(const std::string& name) { return rules().at("optimizer", name); }

std::int64_t UpdateShape::elements() const {
  std::int64_t sum = 0;
  for (const UpdateTensor& tensor : tensors) sum += tensor.elements;
  return sum;
}

UpdateProblem::UpdateProblem(UpdateShape shape, Precision precision)
    : shape_(std::move(shape)), precision_(precision) {
  if (shape_.tensors.empty() ||
      std::ranges::any_of(shape_.tensors, [](const UpdateTensor& t) { return t.elements < 1; }))
    throw InputError("an update needs parameters (a tensor has no elements, or there is none).");
  for (const auto& [what, value] :
       {std::pair{"momentum", shape_.momentum}, std::pair{"weight decay", shape_.weight_decay},
        std::pair{"trust coefficient", shape_.coefficient}})
    if (!(value >= 0 && std::isfinite(value)))
      throw InputError(fmt::format("{} is {} (it is a factor). Use 0 or more.", what, value));
}

std::string UpdateProblem::canonical() const {
  std::string text = fmt::format("{}_n{}t{}m{}wd{}", name(shape_.rule), shape_.elements(),
                                 shape_.tensors.size(), shape_.momentum, shape_.weight_decay);
  if (shape_.rule != UpdateRule::sgd) text += fmt::format("c{}", shape_.coefficient);
  return text;
}

nlohmann::json UpdateProblem::json() const {
  return {{"rule", name(shape_.rule)},           {"elements", shape_.elements()},
          {"tensors", shape_.tensors.size()},    {"momentum", shape_.momentum},
          {"weight_decay", shape_.weight_decay}, {"coefficient", shape_.coefficient}};
}

double UpdateProblem::bytes() const {
  double bytes = 0;
  for (const TensorSpec& tensor : tensors())
    bytes += static_cast<double>(tensor.bytes) * (tensor.role == Role::inout ? 2 : 1);
  return bytes;
}

std::vector<TensorSpec> UpdateProblem::tensors() const {
  const DataType type = storage(precision_),
                 wide = type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
  const std::int64_t n = shape_.elements();
  std::vector<TensorSpec> all{plain_tensor("gradient", Role::input, wide, {n}),
                              plain_tensor("rate", Role::input, wide, {1}),
                              plain_tensor("unscale", Role::input, wide, {1}),
                              plain_tensor("weights", Role::inout, wide, {n}),
                              plain_tensor("velocity", Role::inout, wide, {n})};
  if (size_of(type) == 2) all.push_back(plain_tensor("stored", Role::output, type, {n}));
  all.push_back(plain_tensor("norms", Role::output, DataType::fp64, {2}));
  all.push_back(plain_tensor("counts", Role::output, DataType::fp64, {3}));
  return all;
}

UpdateFactors update_factors(const UpdateShape& shape, const UpdateTensor& tensor, double rate,
                             double unscale, double g, double w) {
  const double decay = tensor.decays ? shape.weight_decay : 0;
  const bool adapts = shape.rule != UpdateRule::sgd && tensor.adapts && g > 0 && w > 0;
  const double trust = adapts ? shape.coefficient * w / (g + decay * w) : 1;
  double by = 1, of_velocity = rate;
  if (shape.rule == UpdateRule::lars) {
    by = rate * trust;
    of_velocity = 1;
  } else if (adapts && rate > 0) {
    by = std::min(trust / rate, 1.0);
  }
  return {by * unscale, by * decay, of_velocity};
}

std::optional<std::string> why_not_precision(const UpdateProblem& problem) {
  const Precision precision = problem.precision();
  if (precision == Precision::fp64 || precision == Precision::fp32 ||
      precision == Precision::bf16 || precision == Precision::fp16)
    return std::nullopt;
  return fmt::format("an update has no {} (parameters are stored in fp64, fp32, bf16 or fp16).",
                     name(precision));
}

}  // namespace assay
