#pragma once
// The common part of the tests of linalg's oracles: inputs, and arithmetic in fewer digits.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/linalg/problem.hpp"

namespace assay::linalg_test {

inline Execution honest(Precision precision) {
  Execution execution;
  execution.algorithm = "direct";
  execution.accumulate = std::string(name(precision));
  return execution;
}

inline Inputs data(const LinalgProblem& problem, Values::Kind kind, int magnitude,
                   std::uint64_t seed) {
  Inputs inputs;
  for (const TensorSpec& spec : problem.tensors())
    inputs.emplace(spec.name, Values(kind, seed, spec.name, spec.type, magnitude));
  return inputs;
}

inline std::vector<std::int64_t> every_index(const TensorSpec& spec) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(spec.elements()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  return all;
}

inline double same(double value) { return value; }
inline double to_fp32(double value) { return round_to(DataType::fp32, value); }
inline double to_bf16(double value) { return round_to(DataType::bf16, value); }
inline double to_tf32(double value) {  // 11 significant bits
  if (value == 0) return 0;
  const double scale = std::ldexp(1, std::ilogb(value) - 10);
  return std::nearbyint(value / scale) * scale;
}

}  // namespace assay::linalg_test
