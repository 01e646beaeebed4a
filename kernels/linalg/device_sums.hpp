#pragma once
// Sums of products of kernels of data analysis by a device that makes the table itself.

#include <algorithm>
#include <numeric>

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

/// The products of all n observations and w, which has `columns` elements; nothing as above.
/// `products`: what sets shape and shift; `shift`: what is taken off x, or empty.
inline std::optional<std::vector<double>> margins_there(Prover* prover, Products products,
                                                        const Inputs& inputs,
                                                        std::vector<double> shift,
                                                        std::span<const double> w) {
  constexpr std::int64_t at_once = std::int64_t{1} << 18;
  products.kind = Products::Kind::margin;
  products.selects = 0;
  shift.insert(shift.end(), w.begin(), w.end());
  std::vector<double> all;
  for (std::int64_t first = 0; first < products.n; first += at_once) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min(at_once, products.n - first)));
    std::iota(rows.begin(), rows.end(), first);
    const auto sums =
        sums_there(prover, products, products.columns, {"x"}, inputs, false, rows, shift);
    if (!sums) return std::nullopt;
    for (const sums::Terms& sum : *sums) all.push_back(sum.value);
  }
  return all;
}

/// weighted_outer_products() of rows that count (outer_products.hpp); nothing as above.
template <class Has>
std::optional<double> weighted_there(Prover* prover, const Products& products, const Inputs& inputs,
                                     const std::vector<double>& shift, const std::vector<double>& u,
                                     const std::vector<double>& v, const Has& has) {
  const auto left = margins_there(prover, products, inputs, shift, u);
  const auto right = left ? margins_there(prover, products, inputs, shift, v) : left;
  if (!right) return std::nullopt;
  double total = 0;
  for (std::size_t row = 0; row < left->size(); ++row)
    if (has(static_cast<std::int64_t>(row))) total += (*left)[row] * (*right)[row];
  return total;
}

}  // namespace assay::linalg
