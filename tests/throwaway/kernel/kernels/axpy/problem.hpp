#pragma once
// out = 2 x + y over n elements: problem, operations, bytes, and the fp64 reference.

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "assay/problem_version/axpy.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

class AxpyProblem final : public ProblemOf<AxpyProblem> {
 public:
  static constexpr const char* kind_name = "axpy";
  static constexpr const char* kind_version = problem_version::axpy;
  AxpyProblem(std::int64_t n, Precision precision) : n_(n), type_(data_type(name(precision))) {}
  std::string canonical() const override { return "n" + std::to_string(n_); }
  nlohmann::json json() const override { return {{"n", n_}}; }
  double flops() const override { return 2.0 * static_cast<double>(n_); }
  double bytes() const override {
    return 3.0 * static_cast<double>(n_) * static_cast<double>(size_of(type_));
  }
  std::vector<TensorSpec> tensors() const {
    const std::size_t bytes = static_cast<std::size_t>(n_) * size_of(type_);
    return {{"x", Role::input, type_, {n_}, bytes, nullptr},
            {"y", Role::input, type_, {n_}, bytes, nullptr},
            {"out", Role::output, type_, {n_}, bytes, nullptr}};
  }

 private:
  std::int64_t n_;
  DataType type_;
};

class AxpyOracle final : public Oracle {
 public:
  int exact_magnitude(const Execution&) const override { return 8; }
  int full_magnitude(const TensorSpec&) const override { return 8; }
  std::vector<std::int64_t> sample(const TensorSpec& output, double budget,
                                   std::uint64_t) const override {
    const std::int64_t n = output.elements();
    const auto step =
        static_cast<std::int64_t>(std::ceil(static_cast<double>(n) / std::max(1.0, budget)));
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < n; i += step) indices.push_back(i);
    return indices;
  }
  void expect(const TensorSpec& output, const Inputs& inputs, const Execution&, bool exact,
              std::span<const std::int64_t> indices, std::span<Expected> expected) const override {
    const Values &x = inputs.find("x")->second, &y = inputs.find("y")->second;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const double value = 2 * x(indices[i]) + y(indices[i]);
      // 2 x is exact; the sum is rounded once.
      const double bound = exact ? 0 : unit_roundoff(output.type) * std::fabs(value);
      expected[i] = {value, bound, bound};
    }
  }
  std::optional<double> checksum(const TensorSpec& output, const Inputs& inputs,
                                 const ChecksumWeights& weights) const override {
    const Values &x = inputs.find("x")->second, &y = inputs.find("y")->second;
    double sum = 0;
    for (std::int64_t i = 0; i < output.elements(); ++i)
      sum += weights.factor(0, i) * (2 * x(i) + y(i));
    return sum;
  }
};

}  // namespace assay
