#pragma once
// Parts of the convolution oracle that have a file of their own.

#include <cstdint>
#include <vector>

#include "core/api/oracle.hpp"
#include "kernels/conv/problem.hpp"

namespace assay::convolution {

/// Oracle::sample.
std::vector<std::int64_t> sample_outputs(const ConvProblem& problem, double budget,
                                         std::uint64_t seed);

/// The weighted sum of all outputs. Sums over outputs, channels and batch are exchanged, so that no
/// output is ever computed: the cost is that of reading the tensors times the number of taps. Exact
/// for integers while it stays below 2^53.
double sum_of_outputs(const ConvProblem& problem, const Values& a, const Values& b,
                      const ChecksumWeights& weights);

}  // namespace assay::convolution
