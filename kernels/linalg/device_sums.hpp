#pragma once
// Sums of products of the kernels of data analysis, computed by a device that generates the table
// itself.

#include <algorithm>
#include <numeric>

#include "kernels/linalg/formula_items.hpp"
#include "kernels/oracle/device_sums.hpp"

namespace assay::linalg {

/// The sums of the outputs `indices`, of `terms` products each (kernels/oracle/device_sums.hpp).
/// Returns nothing without a device, if the device lacks the code, or if inputs are not random,
/// because no device adds their squares.
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

/// Observations for which the host holds results at once.
inline constexpr std::int64_t rows_at_once = std::int64_t{1} << 18;

/// (x - shift, 1) w for each of the `count` observations from `first` on; nothing where
/// sums_there() returns nothing. `products` gives the shape; `shift` is empty if products.shifts is
/// 0.
inline std::optional<std::vector<double>> margins_there(Prover* prover, Products products,
                                                        const Inputs& inputs,
                                                        std::vector<double> shift,
                                                        std::span<const double> w,
                                                        std::int64_t first, std::int64_t count) {
  products.kind = Products::Kind::margin;
  products.selects = 0;
  shift.insert(shift.end(), w.begin(), w.end());
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), first);
  const auto sums =
      sums_there(prover, products, products.columns, {"x"}, inputs, false, rows, shift);
  if (!sums) return std::nullopt;
  std::vector<double> margins;
  margins.reserve(sums->size());
  for (const sums::Terms& sum : *sums) margins.push_back(sum.value);
  return margins;
}

/// As sum_outer_products(), over the rows for which has(row) is true. Nothing if the device cannot
/// compute it.
template <class Has>
std::optional<double> sum_weighted_there(Prover* prover, const Products& products,
                                         const Inputs& inputs, const std::vector<double>& shift,
                                         const std::vector<double>& u, const std::vector<double>& v,
                                         const Has& has) {
  double total = 0;
  for (std::int64_t first = 0; first < products.n; first += rows_at_once) {
    const std::int64_t count = std::min(rows_at_once, products.n - first);
    const auto left = margins_there(prover, products, inputs, shift, u, first, count);
    if (!left) return std::nullopt;
    const auto right = margins_there(prover, products, inputs, shift, v, first, count);
    if (!right) return std::nullopt;
    for (std::size_t i = 0; i < left->size(); ++i)
      if (has(first + static_cast<std::int64_t>(i))) total += (*left)[i] * (*right)[i];
  }
  return total;
}

}  // namespace assay::linalg
