#pragma once
// Sums of products of kernels of data analysis by a device that makes the table itself.

#include "kernels/linalg/formula_items.hpp"
#include "kernels/oracle/device_sums.hpp"

namespace assay::linalg {

/// The sums of the outputs `indices`, of `terms` products each (kernels/oracle/device_sums.hpp).
/// Nothing without a device, or where it has not the code; of inputs that are not random, whose
/// squares no device adds.
inline std::optional<std::vector<sums::Terms>> sums_there(Prover* prover, const Products& products,
                                                          std::int64_t terms,
                                                          const std::vector<std::string>& names,
                                                          const Inputs& inputs, bool compensated,
                                                          std::span<const std::int64_t> indices,
                                                          const std::vector<double>& table = {}) {
  if (prover == nullptr || !sums::are_random(names, inputs)) return std::nullopt;
  auto all =
      sums::sums_of_factors(*prover, products, terms, names, inputs, compensated, indices, table);
  if (all)
    for (sums::Terms& sum : *all) sum.count = terms;
  return all;
}

}  // namespace assay::linalg
