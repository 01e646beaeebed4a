#include "kernels/update/benchmark.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/descriptor.hpp"
#include "core/base/text.hpp"
#include "core/program/layer_benchmark.hpp"
#include "kernels/update/problem.hpp"

namespace assay {
namespace {

/// "n1000t3m0.9": numbers by the names of their fields.
std::map<std::string, double> read_factors(std::string_view text,
                                           const std::vector<std::string>& known,
                                           const DescriptorComplaint& complain) {
  std::map<std::string, double> all;
  const char *at = text.data(), *const end = at + text.size();
  while (at != end) {
    const char* const letters = at;
    while (at != end && *at >= 'a' && *at <= 'z') ++at;
    const std::string field(letters, at);
    if (std::find(known.begin(), known.end(), field) == known.end())
      complain("{}", explain_unknown_name("field", field, known));
    double number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc()) complain("{} has no number. Give for example {}1.", field, field);
    if (!all.emplace(field, number).second) complain("{} is given twice. Give it once.", field);
    at = stop;
  }
  return all;
}

std::int64_t read_whole_number(const std::map<std::string, double>& fields, const std::string& name,
                               std::int64_t most, const DescriptorComplaint& complain) {
  const auto entry = fields.find(name);
  if (entry == fields.end()) complain("{} is missing. Give for example {}64.", name, name);
  const double value = entry->second;
  if (!(value >= 1 && value <= static_cast<double>(most)) || value != std::floor(value))
    complain("{} is {}. Give a whole number from 1 to {}.", name, value, most);
  return static_cast<std::int64_t>(value);
}

/// Every second tensor is a vector of biases with at most 64 elements, which neither decays nor
/// adapts. The other tensors share the remaining elements.
std::vector<UpdateTensor> share_elements(std::int64_t n, std::int64_t t) {
  const std::int64_t of_bias = std::min<std::int64_t>(64, n / t), weights = t - t / 2,
                     rest = n - t / 2 * of_bias;
  std::vector<UpdateTensor> all;
  for (std::int64_t k = 0; k < t; ++k)
    all.push_back(k % 2 == 1 ? UpdateTensor{of_bias, false, false}
                             : UpdateTensor{rest / weights + (k / 2 < rest % weights ? 1 : 0)});
  return all;
}

/// "adam_n1000t3", with the factors of UpdateProblem::canonical() or without.
UpdateShape parse_update(const std::string& descriptor) {
  const DescriptorComplaint complain("update", descriptor);
  const std::size_t name_end = descriptor.find('_');
  if (name_end == std::string::npos)
    complain("an optimizer, _ and sizes are needed. Give for example adam_n1000t3.");
  UpdateShape shape;
  shape.rule = parse_name<UpdateRule>(descriptor.substr(0, name_end));
  std::vector<std::string> known{"n", "t", "m", "wd"};
  const UpdateLoop loop = find_loop(shape.rule);
  if (loop != UpdateLoop::momentum) known.insert(known.end(), {"s", "eps"});
  if (needs_trust(shape.rule)) known.emplace_back("c");
  auto fields = read_factors(std::string_view(descriptor).substr(name_end + 1), known, complain);
  fields.emplace("t", 1);
  const std::int64_t n = read_whole_number(fields, "n", std::int64_t{1} << 40, complain);
  shape.tensors = share_elements(
      n, read_whole_number(fields, "t", std::min<std::int64_t>(n, 1 << 16), complain));
  const bool moments = loop == UpdateLoop::moments;
  for (const auto& [field, factor] :
       {std::pair{"m", moments ? &shape.beta1 : &shape.momentum},
        std::pair{"s", moments ? &shape.beta2 : &shape.alpha}, std::pair{"eps", &shape.epsilon},
        std::pair{"wd", &shape.weight_decay}, std::pair{"c", &shape.coefficient}})
    if (const auto entry = fields.find(field); entry != fields.end()) *factor = entry->second;
  return shape;
}

}  // namespace

const OperationBenchmark& update_benchmark() {
  static const LayerBenchmark benchmark(
      {.name = "update",
       .description = "Updates of a network's parameters by the optimizers of training.",
       .backend = "native",
       .problem = "networks",
       .planes = false,
       .make =
           [](const std::string& text, const Settings& settings) {
             return std::make_unique<UpdateProblem>(parse_update(text),
                                                    precision(settings.at("precision")));
           },
       .oracle = of_problems(make_update_oracle)});
  return benchmark;
}

}  // namespace assay
