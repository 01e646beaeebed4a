#pragma once
// Judges outputs that a test has computed, as the verification of a row does.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/api/oracle.hpp"

namespace assay::kernel_test {

/// Elements beyond their bound, or a norm beyond its, of all outputs; `computed` has them before
/// they are rounded to their types.
template <class Problem>
int complaints(const Problem& problem, const Oracle& oracle, const Inputs& inputs,
               const std::map<std::string, std::vector<double>>& computed) {
  Execution execution;
  execution.accumulate =
      std::string(name(problem.precision() == Precision::fp64 ? DataType::fp64 : DataType::fp32));
  int found = 0;
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.role != Role::output) continue;
    EXPECT_EQ(oracle.whole(spec)->count, spec.elements());
    std::vector<std::int64_t> indices(static_cast<std::size_t>(spec.elements()));
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i);
    std::vector<Expected> expected(indices.size());
    oracle.expect(spec, inputs, execution, false, indices, expected);
    double norm = 0, bound = 0;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const double got = round_to(spec.type, computed.at(spec.name)[i]),
                   error = std::abs(got - expected[i].value);
      const bool exact = expected[i].max_bound == 0;
      if (exact ? got != round_to(spec.type, expected[i].value) : error > expected[i].max_bound)
        ++found;
      norm += exact ? 0 : error * error;
      bound += expected[i].rms_bound * expected[i].rms_bound;
    }
    if (norm > bound) ++found;
  }
  return found;
}

}  // namespace assay::kernel_test
