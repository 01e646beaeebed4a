#pragma once
// Sums over the channels of tensors [images, channels, plane], and expected values of elements.
// Both run the code of a formula (core/api/formula.hpp) on the values of its inputs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/api/belief.hpp"
#include "core/api/prover.hpp"
#include "core/base/error.hpp"
#include "core/base/place.hpp"
#include "kernels/oracle/bounds.hpp"
#include "kernels/oracle/draw.hpp"
#include "kernels/oracle/failure.hpp"

namespace assay::sums {

/// Most terms that an implementation may add one after the other.
constexpr double longest_chain = 0x1p18;

/// Variance of the error of a sum of m terms. Partial sums of random terms drift straight to the
/// sum; those of other terms may be as large as the sum of all magnitudes.
inline double variance_of_channel(double m, double sum, double absolute, double squares,
                                  bool random, double u) {
  const double chain = std::min(m, longest_chain),
               drift = (random ? std::abs(sum) : absolute) * std::sqrt(chain / m);
  return square(u) * variance_of_sum(chain, squares, drift);
}

/// The values of a formula's inputs.
inline std::vector<const Values*> find_values(const std::vector<std::string>& names,
                                              const Inputs& inputs) {
  std::vector<const Values*> all;
  for (const std::string& name : names) all.push_back(&inputs.find(name)->second);
  return all;
}

/// The elements of a formula's inputs in a range, as the host generates them.
class RangeInputs {
 public:
  RangeInputs(const std::vector<const Values*>& inputs, std::int64_t first, std::int64_t count)
      : first_(first), values_(inputs.size(), std::vector<double>(place(count))) {
    for (std::size_t k = 0; k < inputs.size(); ++k) inputs[k]->fill(first, values_[k]);
  }
  double operator()(int k, std::int64_t i) const { return values_[place(k)][place(i - first_)]; }

 private:
  std::int64_t first_;
  std::vector<std::vector<double>> values_;
};

/// expected[i] = the code's expectation of element indices[i]. Ranges are contiguous, except for
/// the single elements of tests.
template <class Code>
void expect_elements(const Code& code, const std::vector<const Values*>& inputs,
                     const std::vector<double>& table, std::span<const std::int64_t> indices,
                     std::span<Expected> expected) {
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    const RangeInputs in(inputs, indices[i], static_cast<std::int64_t>(end - i));
    for (; i < end; ++i) expected[i] = code(in, table.data(), indices[i]);
  }
}

/// CaseError if the device's sums differ from the host's by more than fp64 roundings of the
/// magnitudes of their terms, and `slack`.
template <class Code>
void expect_agreement(const double* there, const double* here, double slack = 0) {
  for (int t = 0; t < Code::terms; ++t)
    // Data of a network may overflow: then neither sum is finite, and they are not compared.
    if ((std::isfinite(there[t]) || std::isfinite(here[t])) &&
        !(std::abs(there[t] - here[t]) <= 1e-10 * std::abs(here[Code::magnitudes[t]]) + slack))
      throw CaseError(fmt::format(
          "the GPU finds {} where the host finds {} ({}). Nothing that this GPU computes can be "
          "checked: update its driver, or test it (nvidia-smi, compute-sanitizer).",
          there[t], here[t], Code::name));
}

/// Sums of a code's terms over each channel. The device computes them if it has the code; its sums
/// must agree with the host's on two channels, once in each process for each code and extents.
class ChannelSums {
 public:
  ChannelSums(const Channels& over, std::vector<std::string> inputs)
      : over_(over), names_(std::move(inputs)) {}

  /// [channel][term]. `prover`: null if there is none.
  template <class Code>
  std::vector<double> sum(const Code& code, const Inputs& inputs, const std::vector<double>& table,
                          Prover* prover) const {
    const std::vector<const Values*> values = find_values(names_, inputs);
    if (prover != nullptr) {
      const ElementFormula formula = make_formula(code, names_, table);
      const auto there = prover->sum(formula, inputs, over_);
      if (there) {
        const std::string what = fmt::format("{} {} {} {}", describe_belief(formula, inputs),
                                             over_.images, over_.channels, over_.plane);
        if (prover->is_new(what)) believe(code, values, table, *there);
        prover->believe(what);
        return *there;
      }
    }
    std::vector<double> all(place(over_.channels * Code::terms));
    Failure failure;
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t c = 0; c < over_.channels; ++c)
      failure.keep([&] { sum_channel(code, values, table, c, all.data() + c * Code::terms); });
    failure.rethrow();
    return all;
  }

 private:
  /// Sums of planes are added with their rounding errors, so that fp64's own rounding does not blur
  /// the sums.
  template <class Code>
  void sum_channel(const Code& code, const std::vector<const Values*>& values,
                   const std::vector<double>& table, std::int64_t c, double* to) const {
    ColumnSums total(Code::terms);
    for (std::int64_t n = 0; n < over_.images; ++n) {
      const std::int64_t first = (n * over_.channels + c) * over_.plane;
      const RangeInputs in(values, first, over_.plane);
      double of_plane[Code::terms] = {}, terms[Code::terms];
      for (std::int64_t i = first; i < first + over_.plane; ++i) {
        code(in, table.data(), i, terms);
        for (int t = 0; t < Code::terms; ++t) of_plane[t] += terms[t];
      }
      total.add(0, of_plane, Code::terms);
    }
    for (int t = 0; t < Code::terms; ++t) to[t] = total[static_cast<std::size_t>(t)];
  }

  template <class Code>
  void believe(const Code& code, const std::vector<const Values*>& values,
               const std::vector<double>& table, const std::vector<double>& there) const {
    for (const std::int64_t c : {std::int64_t{0}, over_.channels - 1}) {
      double here[Code::terms];
      sum_channel(code, values, table, c, here);
      expect_agreement<Code>(there.data() + c * Code::terms, here);
    }
  }

  Channels over_;
  std::vector<std::string> names_;
};

}  // namespace assay::sums
