#include "kernels/linalg/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/descriptor.hpp"
#include "core/base/text.hpp"

namespace assay {

const std::vector<std::string>& linalg_kernel_names() {
  static const std::vector<std::string> names{"syrk"};
  return names;
}

LinalgShape parse_linalg(const std::string& descriptor) {
  const std::vector<std::string>& names = linalg_kernel_names();
  const DescriptorComplaint complain("linalg", descriptor);
  const std::size_t colon = descriptor.find(':');
  if (colon == std::string::npos)
    complain("the kernel is missing (it precedes a colon). Give for example syrk:n262144d250.");
  const std::string kernel = descriptor.substr(0, colon);
  const auto found = std::find(names.begin(), names.end(), kernel);
  if (found == names.end()) complain("{}", unknown_name("kernel", kernel, names));
  const auto counts = read_counts(descriptor.substr(colon + 1), {"n", "d"}, {"n", "d"}, complain);
  const LinalgShape shape{static_cast<LinalgKernel>(found - names.begin()), counts.at("n"),
                          counts.at("d")};
  product({{"n", shape.n}, {"d", shape.d}, {"d + 1", shape.d + 1}}, "the number of operations",
          complain);
  product({{"n", shape.n}, {"d", shape.d}, {"element size", 8}}, "x in bytes", complain);
  product({{"d", shape.d}, {"d", shape.d}, {"element size", 8}}, "c in bytes", complain);
  return shape;
}

std::string to_descriptor(const LinalgShape& shape) {
  return fmt::format("{}:n{}d{}", linalg_kernel_names().at(static_cast<std::size_t>(shape.kernel)),
                     shape.n, shape.d);
}

nlohmann::json LinalgProblem::json() const {
  return {{"kernel", linalg_kernel_names().at(static_cast<std::size_t>(shape_.kernel))},
          {"n", shape_.n},
          {"d", shape_.d}};
}

double LinalgProblem::flops() const {
  const auto n = static_cast<double>(shape_.n), d = static_cast<double>(shape_.d);
  return n * d * (d + 1);
}

double LinalgProblem::bytes() const {
  const auto n = static_cast<double>(shape_.n), d = static_cast<double>(shape_.d);
  return (n * d + d * d) * static_cast<double>(size_of(storage(precision_)));
}

std::vector<TensorSpec> LinalgProblem::tensors() const {
  const DataType type = storage(precision_);
  return {plain_tensor("x", Role::input, type, {shape_.n, shape_.d}),
          plain_tensor("c", Role::output, type, {shape_.d, shape_.d})};
}

}  // namespace assay
