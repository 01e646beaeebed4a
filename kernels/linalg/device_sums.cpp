#include "kernels/linalg/device_sums.hpp"

#include "kernels/oracle/device_sums.hpp"

namespace assay::linalg {

std::optional<std::vector<sums::Terms>> sums_there(Prover* prover, const Products& products,
                                                   std::int64_t terms,
                                                   const std::vector<std::string>& names,
                                                   const Inputs& inputs, bool compensated,
                                                   std::span<const std::int64_t> indices,
                                                   const std::vector<double>& table) {
  if (prover == nullptr || !sums::are_random(names, inputs)) return std::nullopt;
  auto all =
      sums::sums_of_factors(*prover, products, terms, names, inputs, compensated, indices, table);
  if (all)
    for (sums::Terms& of : *all) of.count = terms;
  return all;
}

}  // namespace assay::linalg
