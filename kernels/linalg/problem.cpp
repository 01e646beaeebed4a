#include "kernels/linalg/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/descriptor.hpp"

namespace assay {
namespace {

/// The fields of a kernel's descriptor.
std::vector<std::string> fields(LinalgKernel kernel) {
  switch (kernel) {
    case LinalgKernel::eigh:
      return {"d"};
    case LinalgKernel::kmeans_assign:
      return {"n", "d", "k"};
    default:
      return {"n", "d"};
  }
}

/// Refuses shapes whose work or memory does not fit 64 bits.
void expect_countable(const LinalgShape& s, const DescriptorComplaint& complain) {
  const std::int64_t n = std::max<std::int64_t>(s.n, 1), k = std::max<std::int64_t>(s.k, 1);
  // Unknown factors come first, so that the message names a field. Bytes precede operations: if
  // they fit, 2 k + 1 and d + 1 fit, too.
  product({{"element size", 8}, {"n", n}, {"d", s.d}}, "x in bytes", complain);
  product({{"element size", 8}, {"k", k}, {"d", s.d}}, "the centroids in bytes", complain);
  product({{"4", 4}, {"n", n}, {"d", s.d}, {"d + 1", s.d + 1}}, "the number of operations",
          complain);
  product({{"n", n}, {"d", s.d}, {"2 k + 1", 2 * k + 1}}, "the number of operations", complain);
  product({{"9", 9}, {"d", s.d}, {"d + 1", s.d + 1}, {"d + 1", s.d + 1}},
          "the number of operations", complain);
}

}  // namespace

const NameTable<LinalgKernel>& get_name_table(LinalgKernel) {
  static const NameTable<LinalgKernel> table(
      {"syrk", "moments", "eigh", "qr", "kmeans_assign", "hinge", "hinge_hessian"});
  return table;
}

LinalgShape parse_linalg(const std::string& descriptor) {
  const DescriptorComplaint complain("linalg", descriptor);
  const std::size_t colon = descriptor.find(':');
  if (colon == std::string::npos)
    complain("the kernel is missing (it precedes a colon). Give for example syrk:n262144d250.");
  const std::string kernel_name = descriptor.substr(0, colon);
  const auto kernel = get_name_table(LinalgKernel{}).find(kernel_name);
  if (!kernel)
    complain("{}", explain_unknown_name("kernel", kernel_name, list_names<LinalgKernel>()));
  LinalgShape shape;
  shape.kernel = *kernel;
  const std::vector<std::string> known = fields(shape.kernel);
  for (const auto& [field, count] :
       read_counts(descriptor.substr(colon + 1), known, known, complain))
    (field == "n" ? shape.n : field == "d" ? shape.d : shape.k) = count;
  expect_countable(shape, complain);
  if (shape.kernel == LinalgKernel::qr && shape.n < shape.d)
    complain("n is below d (a QR factorization needs as many observations as features).");
  return shape;
}

std::string to_descriptor(const LinalgShape& shape) {
  std::string text = name(shape.kernel) + ":";
  for (const std::string& field : fields(shape.kernel))
    text += fmt::format("{}{}", field, field == "n" ? shape.n : field == "d" ? shape.d : shape.k);
  return text;
}

nlohmann::json LinalgProblem::json() const {
  nlohmann::json json{{"kernel", name(shape_.kernel)}, {"d", shape_.d}};
  if (shape_.n > 0) json["n"] = shape_.n;
  if (shape_.k > 0) json["k"] = shape_.k;
  return json;
}

double LinalgProblem::flops() const {
  const auto n = static_cast<double>(shape_.n), d = static_cast<double>(shape_.d),
             k = static_cast<double>(shape_.k);
  switch (shape_.kernel) {
    case LinalgKernel::syrk:
    case LinalgKernel::moments:
      return n * d * (d + 1);
    case LinalgKernel::eigh:
      return 9 * d * d * d;
    case LinalgKernel::qr:
      return 2 * d * d * (n - d / 3);
    case LinalgKernel::kmeans_assign:
      return n * d * (2 * k + 1);
    case LinalgKernel::hinge:
      return 4 * n * (d + 1);
    case LinalgKernel::hinge_hessian:
      return n * (d + 1) * (d + 2) / 2;
  }
  throw std::logic_error("unknown kernel of linalg");
}

std::vector<TensorSpec> LinalgProblem::tensors() const {
  const DataType type = storage(precision_);
  const auto [kernel, n, d, k] = shape_;
  const auto input = [type](const char* name, std::vector<std::int64_t> dims) {
    return plain_tensor(name, Role::input, type, std::move(dims));
  };
  const auto output = [](const char* name, DataType element_type, std::vector<std::int64_t> dims) {
    return plain_tensor(name, Role::output, element_type, std::move(dims));
  };
  constexpr DataType fp64 = DataType::fp64;
  switch (kernel) {
    case LinalgKernel::syrk:
      return {input("x", {n, d}), output("c", type, {d, d})};
    case LinalgKernel::moments:
      return {input("x", {n, d}), input("shift", {d}), output("sums", fp64, {d}),
              output("gram", fp64, {d, d})};
    case LinalgKernel::eigh:
      return {input("a", {d, d}), output("w", type, {d}), output("v", type, {d, d})};
    case LinalgKernel::qr:
      return {input("x", {n, d}), output("r", type, {d, d})};
    case LinalgKernel::kmeans_assign:
      return {input("x", {n, d}),
              input("centroids", {k, d}),
              output("labels", DataType::s32, {n}),
              output("sums", fp64, {k, d}),
              output("counts", fp64, {k}),
              output("inertia", fp64, {1})};
    case LinalgKernel::hinge:
      return {input("x", {n, d}),
              input("y", {n}),
              input("w", {d + 1}),
              input("slope", {1}),
              output("s", type, {n}),
              output("losses", fp64, {4}),
              output("direction", fp64, {d + 1})};
    case LinalgKernel::hinge_hessian:
      return {input("x", {n, d}), input("s", {n}), output("h", fp64, {d + 1, d + 1})};
  }
  throw std::logic_error("unknown kernel of linalg");
}

}  // namespace assay
