#pragma once
// Parts of references that make one pass over all inputs: a fingerprint of the inputs, so that
// several outputs and checks can share one pass, and precise sums.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/api/oracle.hpp"

namespace assay::sums {

/// Evenly spaced elements of all inputs (of small inputs all elements), which distinguish different
/// draws of random values. 64 elements with at least 3 possible values each are equal in two draws
/// with a probability of at most 3^-64 = 10^-30. Stored values have unique numbers instead.
inline std::vector<double> fingerprint(const std::vector<TensorSpec>& arguments,
                                       const Inputs& inputs) {
  constexpr std::int64_t most = 64;
  std::vector<double> values;
  for (const TensorSpec& spec : arguments) {
    if (spec.role != Role::input && spec.role != Role::inout) continue;
    const Values& input = inputs.find(spec.name)->second;
    if (const StoredValues* const stored = input.stored()) {
      values.push_back(static_cast<double>(stored->serial()));
      continue;
    }
    const std::int64_t count = std::min(spec.elements(), most);
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(
          input(i * (spec.elements() / count) + i * (spec.elements() % count) / count));
  }
  return values;
}

/// Sums of columns. Each also sums the rounding errors of its additions (Knuth's TwoSum), so that
/// the additions lose no precision of fp64.
class ColumnSums {
 public:
  explicit ColumnSums(std::size_t columns) : sums_(columns), low_(columns) {}
  /// Adds factor * values to the columns from `first` on.
  void add(std::size_t first, const double* values, std::size_t count, double factor = 1) {
    for (std::size_t j = 0; j < count; ++j) add(first + j, factor * values[j]);
  }
  void add(std::size_t column, double value) {
    const double sum = sums_[column], next = sum + value, shift = next - sum;
    low_[column] += (sum - (next - shift)) + (value - shift);
    sums_[column] = next;
  }
  void add(const ColumnSums& other) {
    for (std::size_t j = 0; j < sums_.size(); ++j) {
      add(j, other.sums_[j]);
      low_[j] += other.low_[j];
    }
  }
  double operator[](std::size_t column) const { return sums_[column] + low_[column]; }

 private:
  std::vector<double> sums_, low_;
};

}  // namespace assay::sums
