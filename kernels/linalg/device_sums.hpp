#pragma once
// Sums of products of kernels of data analysis by a device that makes the table itself.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/api/prover.hpp"
#include "kernels/linalg/formula_items.hpp"
#include "kernels/oracle/sums.hpp"

namespace assay::linalg {

/// The sums of the outputs `indices`, of `terms` products each (kernels/oracle/device_sums.hpp).
/// Nothing without a device, or where it has not the code; of inputs that are not random, whose
/// squares no device adds.
std::optional<std::vector<sums::Terms>> sums_there(Prover* prover, const Products& products,
                                                   std::int64_t terms,
                                                   const std::vector<std::string>& names,
                                                   const Inputs& inputs, bool compensated,
                                                   std::span<const std::int64_t> indices,
                                                   const std::vector<double>& table = {});

}  // namespace assay::linalg
