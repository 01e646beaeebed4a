#include "kernels/update/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "kernels/oracle/plain_precision.hpp"

namespace assay {

const NameTable<UpdateRule>& get_name_table(UpdateRule) {
  static const NameTable<UpdateRule> table(
      {"sgd", "lars", "larc", "adam", "adamw", "rmsprop", "lamb", "larc-adam", "larc-rmsprop"},
      "optimizer");
  return table;
}

UpdateLoop find_loop(UpdateRule rule) {
  if (rule == UpdateRule::rmsprop || rule == UpdateRule::larc_rmsprop) return UpdateLoop::rmsprop;
  return rule == UpdateRule::adam || rule == UpdateRule::adamw || rule == UpdateRule::lamb ||
                 rule == UpdateRule::larc_adam
             ? UpdateLoop::moments
             : UpdateLoop::momentum;
}
bool is_larc(UpdateRule rule) {
  return rule == UpdateRule::larc || rule == UpdateRule::larc_adam ||
         rule == UpdateRule::larc_rmsprop;
}
bool needs_trust(UpdateRule rule) { return rule == UpdateRule::lars || is_larc(rule); }

std::int64_t UpdateShape::elements() const {
  std::int64_t sum = 0;
  for (const UpdateTensor& tensor : tensors) sum += tensor.elements;
  return sum;
}

UpdateProblem::UpdateProblem(UpdateShape shape, Precision precision)
    : ShapedProblem(std::move(shape), precision) {
  if (shape_.tensors.empty() ||
      std::ranges::any_of(shape_.tensors, [](const UpdateTensor& t) { return t.elements < 1; }))
    throw InputError("an update needs parameters (a tensor has no elements, or there is none).");
  for (const auto& [what, value] :
       {std::pair{"momentum", shape_.momentum}, std::pair{"weight decay", shape_.weight_decay},
        std::pair{"trust coefficient", shape_.coefficient}})
    if (!(value >= 0 && std::isfinite(value)))
      throw InputError(fmt::format("{} is {} (it is a factor). Use 0 or more.", what, value));
  for (const auto& [what, value] :
       {std::pair{"beta1", shape_.beta1}, std::pair{"beta2", shape_.beta2},
        std::pair{"alpha", shape_.alpha}})
    if (!(value >= 0 && value < 1))
      throw InputError(fmt::format("{} is {}. Use 0 or more, and less than 1.", what, value));
  if (!(shape_.epsilon >= 1e-30 && std::isfinite(shape_.epsilon)))
    throw InputError(fmt::format("epsilon is {}. Use 1e-30 or more.", shape_.epsilon));
}

std::string UpdateProblem::canonical() const {
  std::string text =
      fmt::format("{}_n{}t{}", name(shape_.rule), shape_.elements(), shape_.tensors.size());
  const UpdateLoop loop = find_loop(shape_.rule);
  text += fmt::format("m{}", loop == UpdateLoop::moments ? shape_.beta1 : shape_.momentum);
  if (loop != UpdateLoop::momentum)
    text += fmt::format("s{}eps{}", loop == UpdateLoop::moments ? shape_.beta2 : shape_.alpha,
                        shape_.epsilon);
  text += fmt::format("wd{}", shape_.weight_decay);
  if (needs_trust(shape_.rule)) text += fmt::format("c{}", shape_.coefficient);
  return text;
}

nlohmann::json UpdateProblem::json() const {
  nlohmann::json all = {{"rule", name(shape_.rule)},           {"elements", shape_.elements()},
                        {"tensors", shape_.tensors.size()},    {"momentum", shape_.momentum},
                        {"weight_decay", shape_.weight_decay}, {"coefficient", shape_.coefficient}};
  if (find_loop(shape_.rule) != UpdateLoop::momentum)
    all.update({{"beta1", shape_.beta1},
                {"beta2", shape_.beta2},
                {"alpha", shape_.alpha},
                {"epsilon", shape_.epsilon}});
  return all;
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
  const UpdateLoop loop = find_loop(shape_.rule);
  if (loop != UpdateLoop::momentum) all.push_back(plain_tensor("second", Role::inout, wide, {n}));
  if (loop == UpdateLoop::moments) all.push_back(plain_tensor("step", Role::input, wide, {1}));
  if (size_of(type) == 2) all.push_back(plain_tensor("stored", Role::output, type, {n}));
  all.push_back(plain_tensor("norms", Role::output, DataType::fp64, {2}));
  all.push_back(plain_tensor("counts", Role::output, DataType::fp64, {3}));
  return all;
}

UpdateStep<double> update_factors(const UpdateShape& shape, const UpdateTensor& tensor, double rate,
                                  double unscale, double g, double w, double step) {
  const UpdateRule rule = shape.rule;
  const UpdateLoop loop = find_loop(rule);
  const double decay = tensor.decays ? shape.weight_decay : 0;
  const bool adapts = needs_trust(rule) && tensor.adapts && g > 0 && w > 0;
  const double trust = adapts ? shape.coefficient * w / (g + decay * w) : 1;
  double by = 1, of_velocity = rate;
  if (rule == UpdateRule::lars) {
    by = rate * trust;
    of_velocity = 1;
  } else if (adapts && rate > 0) {
    by = std::min(trust / rate, 1.0);
  }
  const bool decoupled = rule == UpdateRule::adamw || rule == UpdateRule::lamb;
  UpdateStep<double> factors{
      shape.momentum, by * unscale,         decoupled ? 0 : by * decay, of_velocity, 1, 0, 0, 1, 1,
      shape.epsilon,  decoupled ? decay : 0};
  if (loop == UpdateLoop::momentum) return factors;
  const double beta2 = loop == UpdateLoop::moments ? shape.beta2 : shape.alpha;
  factors.keep_second = beta2;
  factors.add_second = 1 - beta2;
  if (loop == UpdateLoop::rmsprop) return factors;
  // 1 - beta^step, precise even for a beta close to 1.
  const auto correction = [step](double beta) { return -std::expm1(step * std::log(beta)); };
  factors.keep = shape.beta1;
  factors.add = 1 - shape.beta1;
  factors.of_first = 1 / correction(shape.beta1);
  factors.of_root = 1 / std::sqrt(correction(beta2));
  return factors;
}

double lamb_trust(const UpdateTensor& tensor, double w, double r) {
  return tensor.adapts && w > 0 && r > 0 ? w / r : 1;
}

std::optional<std::string> why_not_precision(const UpdateProblem& problem) {
  return why_not_plain(problem.precision(), "an update",
                       "parameters are stored in fp64, fp32, bf16 or fp16");
}

}  // namespace assay
