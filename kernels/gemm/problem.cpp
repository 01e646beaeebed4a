#include "kernels/gemm/problem.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"

namespace assay {
namespace {

/// The type in which libraries take alpha and beta.
DataType scalar_type(Precision precision) {
  return precision == Precision::fp64 ? DataType::fp64 : DataType::fp32;
}

bool is_whole(double value) { return value == std::nearbyint(value); }

}  // namespace

GemmProblem::GemmProblem(const GemmShape& shape, Precision precision)
    : ShapedProblem(parse_gemm(to_descriptor(shape)), precision) {
  for (const auto& [name, value] : {std::pair{"alpha", shape_.alpha}, {"beta", shape_.beta}}) {
    const double held = round_to(scalar_type(precision), value);
    if (!std::isfinite(held) || (held == 0) != (value == 0))
      throw InputError(
          fmt::format("gemm problem '{}': {} is {}, which {} does not hold. Give {} 1.",
                      canonical(), name, value, assay::name(scalar_type(precision)), name));
  }
}

double GemmProblem::alpha() const { return round_to(scalar_type(precision_), shape_.alpha); }
double GemmProblem::beta() const { return round_to(scalar_type(precision_), shape_.beta); }

nlohmann::json GemmProblem::json() const {
  const GemmShape& s = shape_;
  return {{"m", s.m},           {"n", s.n},           {"k", s.k},      {"batch", s.batch},
          {"ta", s.ta ? 1 : 0}, {"tb", s.tb ? 1 : 0}, {"lda", s.lda},  {"ldb", s.ldb},
          {"ldc", s.ldc},       {"alpha", s.alpha},   {"beta", s.beta}};
}

double GemmProblem::flops() const {
  const GemmShape& s = shape_;
  return static_cast<double>(2 * s.m * s.n * s.k * s.batch);  // parse_gemm: within 64 bits
}

double GemmProblem::bytes() const {
  const GemmShape& s = shape_;
  const auto bytes_of_matrix = [](std::int64_t elements, DataType type) {
    return static_cast<double>(elements) * static_cast<double>(size_of(type));
  };
  const PrecisionFormat& types = format(precision_);
  const double c = bytes_of_matrix(s.m * s.n, types.output);
  return static_cast<double>(s.batch) *
         (bytes_of_matrix(s.m * s.k, types.input) + bytes_of_matrix(s.k * s.n, types.input) +
          (s.beta != 0 ? 2 : 1) * c);
}

std::vector<TensorSpec> GemmProblem::tensors() const {
  const GemmShape& s = shape_;
  const PrecisionFormat& types = format(precision_);
  const bool kept = s.beta != 0 || s.ldc != s.m;
  return {
      // The matrix on the left contains the weights.
      plain_tensor("a", Role::input, weight_type(precision_), {s.batch, s.a_columns(), s.lda}),
      plain_tensor("b", Role::input, types.input, {s.batch, s.b_columns(), s.ldb}),
      plain_tensor("c", kept ? Role::inout : Role::output, types.output, {s.batch, s.n, s.ldc})};
}

std::optional<std::string> why_not_precision(const GemmProblem& problem) {
  if (problem.precision() == Precision::int8 &&
      !(is_whole(problem.alpha()) && is_whole(problem.beta())))
    return fmt::format(
        "int8 has integer results (alpha {:g} and beta {:g} would be rounded). Use integers.",
        problem.alpha(), problem.beta());
  return std::nullopt;
}

}  // namespace assay
