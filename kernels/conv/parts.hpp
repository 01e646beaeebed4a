#pragma once
// Parts of the convolution oracle that are in files of their own.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/api/oracle.hpp"
#include "kernels/conv/problem.hpp"
#include "kernels/oracle/sum_bound.hpp"

namespace assay::convolution {

/// Oracle::sample.
std::vector<std::int64_t> sample_outputs(const ConvProblem& problem, double budget,
                                         std::uint64_t seed);

/// Oracle::checksum. Sums over outputs, channels and batch are exchanged, so that no single output
/// is computed. The cost is that of reading the tensors once for each tap. Exact for integers if
/// the sum stays below 2^53. `a`, `b`: the two inputs.
double sum_of_outputs(const ConvProblem& problem, const Values& a, const Values& b,
                      const ChecksumWeights& weights);

/// The sums of products of the outputs `indices`, computed by the device that has the inputs
/// (kernels/oracle/device_sums.hpp); nothing if it cannot compute them. here(output): the host's
/// sum.
std::optional<std::vector<sums::Terms>> sums_there(
    Prover& prover, const ConvProblem& problem, const Inputs& inputs,
    std::span<const std::int64_t> indices,
    const std::function<sums::Terms(std::int64_t output)>& here);

}  // namespace assay::convolution
