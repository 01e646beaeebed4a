#pragma once
// Sums of products of a few outputs by the device that has, or makes, the inputs.

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/api/belief.hpp"
#include "core/api/prover.hpp"
#include "core/base/error.hpp"
#include "kernels/oracle/part_of_sum.hpp"

namespace assay::sums {

/// The sums of the outputs `indices`, of `terms` products each; nothing where the device has not
/// the code. here(output): the host's sum, with which it must agree about a few outputs once in
/// each process for each problem; CaseError if it does not.
///
/// A compensated part is rounded once, and P parts are added plainly. The variance of all these
/// roundings is at most (1 + P / 2) u^2 / 3 times the squared norm of the products. With 512
/// products a part that is below 1/500 of what their bound allows for `terms` (sum_bound.hpp).
template <class Products, class Here>
std::optional<std::vector<Terms>> sums_of_device(Prover& prover, const Products& products,
                                                 std::int64_t terms,
                                                 const std::vector<std::string>& names,
                                                 const Inputs& inputs, bool compensated,
                                                 std::span<const std::int64_t> indices,
                                                 const Here& here) {
  constexpr std::int64_t products_of_part = 512;  // of a thread
  if (indices.empty()) return std::nullopt;
  bool random = true;
  for (const std::string& name : names) random = random && inputs.find(name)->second.random();
  const std::int64_t parts = (terms + products_of_part - 1) / products_of_part;
  const ElementFormula formula = unpadded_formula_of(
      PartOfSum<Products>{products, terms, products_of_part, parts, random, compensated}, names);
  std::vector<std::int64_t> wanted;
  for (const std::int64_t index : indices)
    for (std::int64_t part = 0; part < parts; ++part) wanted.push_back(index * parts + part);
  const auto found = prover.expect(formula, inputs, wanted);
  if (!found) return std::nullopt;
  std::vector<Terms> all(indices.size());
  for (std::size_t i = 0; i < found->size(); ++i) {
    Terms& sum = all[i / static_cast<std::size_t>(parts)];
    sum.value += (*found)[i].value;
    sum.absolute += (*found)[i].max_bound;
    (random ? sum.squares : sum.subnormal) += (*found)[i].rms_bound;
  }
  const std::string what = belief_of(formula, inputs);
  if (!prover.is_new(what)) return all;
  const double of_sum = compensated ? 0x1p-52 * static_cast<double>(parts + 1) : 1e-10;
  const auto near = [](double x, double y, double most) {
    return std::abs(x - y) <= most || (!std::isfinite(x) && !std::isfinite(y));
  };
  for (const std::size_t i : {std::size_t{0}, indices.size() / 2, indices.size() - 1}) {
    const Terms should = here(indices[i]), &is = all[i];
    if (!near(is.value, should.value, of_sum * should.absolute) ||
        !near(is.absolute, should.absolute, 1e-10 * should.absolute) ||
        (random && !near(is.squares, should.squares, 1e-10 * should.squares)) ||
        (!random && !near(is.subnormal, should.subnormal, 1e-10 * should.subnormal)))
      throw CaseError(fmt::format(
          "the GPU finds a sum of {} where the host finds {} ({}). Nothing that this GPU computes "
          "can be checked: update its driver, or test it (nvidia-smi, compute-sanitizer).",
          is.value, should.value, formula.name));
  }
  prover.believe(what);
  return all;
}

}  // namespace assay::sums
