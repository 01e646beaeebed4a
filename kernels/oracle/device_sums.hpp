#pragma once
// Sums of products of a few outputs, computed by the device that has, or generates, the inputs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/api/belief.hpp"
#include "core/api/prover.hpp"
#include "core/base/error.hpp"
#include "kernels/oracle/part_of_sum.hpp"
#include "kernels/oracle/sums.hpp"

namespace assay::sums {

inline bool are_random(const std::vector<std::string>& names, const Inputs& inputs) {
  return std::ranges::all_of(
      names, [&](const std::string& name) { return inputs.find(name)->second.random(); });
}

/// The sums of the outputs `indices`, of `terms` products each; nothing if the device lacks the
/// code. here(output): the host's sum. Once in each process for each problem, the device must agree
/// with it on a few outputs; CaseError if it does not. `table`: the table of the products' code.
///
/// A compensated part is rounded once, and P parts are added in plain fp64. The variance of all
/// these roundings is at most (1 + P / 2) u^2 / 3 times the squared norm of the products. With at
/// least 512 products it is below 1/500 of their bound for `terms` (sum_bound.hpp).
template <class Products, class Here>
std::optional<std::vector<Terms>> sums_of_device(Prover& prover, const Products& products,
                                                 std::int64_t terms,
                                                 const std::vector<std::string>& names,
                                                 const Inputs& inputs, bool compensated,
                                                 std::span<const std::int64_t> indices,
                                                 const Here& here, std::vector<double> table = {}) {
  // A thread adds at least so many terms, and more if there would otherwise be too many parts.
  constexpr std::int64_t fewest = 512, most_parts_of_all = std::int64_t{1} << 22;
  if (indices.empty()) return std::nullopt;
  const bool random = are_random(names, inputs);
  const std::int64_t at_most = std::max(most_parts_of_all / std::ssize(indices), std::int64_t{1}),
                     of_part = std::max((terms + at_most - 1) / at_most, fewest),
                     parts = (terms + of_part - 1) / of_part;
  const ElementFormula formula =
      make_formula(PartOfSum<Products>{products, terms, of_part, parts, random, compensated}, names,
                   std::move(table));
  std::vector<std::int64_t> wanted;
  for (const std::int64_t index : indices)
    for (std::int64_t part = 0; part < parts; ++part) wanted.push_back(index * parts + part);
  const auto sums_of_parts = prover.expect(formula, inputs, wanted);
  if (!sums_of_parts) return std::nullopt;
  std::vector<Terms> all(indices.size());
  for (std::size_t i = 0; i < sums_of_parts->size(); ++i) {
    Terms& sum = all[i / static_cast<std::size_t>(parts)];
    sum.value += (*sums_of_parts)[i].value;
    sum.absolute += (*sums_of_parts)[i].max_bound;
    (random ? sum.squares : sum.subnormal) += (*sums_of_parts)[i].rms_bound;
  }
  const std::string what = describe_belief(formula, inputs);
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

/// The same for products whose factors read() computes. The host adds the products of a few outputs
/// one by one.
template <class Products>
std::optional<std::vector<Terms>> sums_of_factors(Prover& prover, const Products& products,
                                                  std::int64_t terms,
                                                  const std::vector<std::string>& names,
                                                  const Inputs& inputs, bool compensated,
                                                  std::span<const std::int64_t> indices,
                                                  const std::vector<double>& table) {
  std::vector<const Values*> values;
  for (const std::string& name : names) values.push_back(&inputs.find(name)->second);
  const auto in = [&](int k, std::int64_t i) { return (*values[static_cast<std::size_t>(k)])(i); };
  const auto here = [&](std::int64_t output) {
    Sum sum(compensated, are_random(names, inputs));
    for (std::int64_t number = 0; number < terms; ++number)
      if (double a = 0, b = 0; products.read(in, table.data(), output, number, a, b))
        sum.add(&a, &b, 1);
    return sum.terms();
  };
  return sums_of_device(prover, products, terms, names, inputs, compensated, indices, here, table);
}

/// The results of code(in, table, i) for i < count, three numbers each; nothing if the device lacks
/// the code. here(i): the host's result. Once in each process for each problem, the device must
/// agree with it on a few elements; CaseError if it does not.
template <class Code, class Here>
std::optional<std::vector<Expected>> numbers_of_device(Prover& prover, const Code& code,
                                                       const std::vector<std::string>& names,
                                                       const Inputs& inputs,
                                                       std::vector<double> table,
                                                       std::int64_t count, const Here& here) {
  std::vector<std::int64_t> wanted(static_cast<std::size_t>(count));
  std::iota(wanted.begin(), wanted.end(), std::int64_t{0});
  const ElementFormula formula = make_formula(code, names, std::move(table));
  auto all = prover.expect(formula, inputs, wanted);
  const std::string what = fmt::format("{} {}", describe_belief(formula, inputs), count);
  if (!all || !prover.is_new(what)) return all;
  const auto near = [](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y)) ||
           (std::isfinite(y) && std::abs(x - y) <= 1e-10 * std::abs(y));
  };
  for (const std::int64_t i : {std::int64_t{0}, count / 3, count - 2, count - 1}) {
    if (i < 0) continue;
    const Expected should = here(i), &is = (*all)[static_cast<std::size_t>(i)];
    if (!near(is.value, should.value) || !near(is.max_bound, should.max_bound) ||
        !near(is.rms_bound, should.rms_bound))
      throw CaseError(fmt::format(
          "the GPU finds {}, {} and {} where the host finds {}, {} and {} ({}). Nothing that this "
          "GPU computes can be checked: update its driver, or test it (nvidia-smi, "
          "compute-sanitizer).",
          is.value, is.max_bound, is.rms_bound, should.value, should.max_bound, should.rms_bound,
          formula.name));
  }
  prover.believe(what);
  return all;
}

}  // namespace assay::sums
