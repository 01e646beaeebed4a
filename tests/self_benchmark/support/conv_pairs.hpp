#pragma once
// A convolution by two algorithms, their runs paired.

#include "kernels/conv/benchmark.hpp"
#include "tests/self_benchmark/support/operation_pairs.hpp"

namespace assay::self_benchmark {

inline constexpr const char* conv_threads = pair_threads;

/// Two algorithms of one fp32 forward convolution: "backend/algorithm".
class ConvPair : public OperationPair {
 public:
  ConvPair(const std::string& problem, const std::string& a, const std::string& b)
      : OperationPair(conv_benchmark(), {{"problem", problem}, {"direction", "forward"}}, a, b) {}
};

/// A ratio of the two sides' times on one problem.
inline nlohmann::json conv_ratio(int pairs, const std::string& problem, const std::string& a,
                                 const std::string& b) {
  ConvPair pair(problem, a, b);
  return operation_ratio(pair, pairs, 3);
}

}  // namespace assay::self_benchmark
