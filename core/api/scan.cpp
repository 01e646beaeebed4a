#include "core/api/scan.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace assay {
namespace {

double largest_result(DataType type) {
  return type == DataType::s32 ? 2147483647.0 : std::numeric_limits<double>::max();
}

}  // namespace

bool no_result(DataType type, double value) { return !(std::abs(value) <= largest_result(type)); }

Scan::Scan(DataType type, std::span<const std::int64_t> indices, const ChecksumWeights* weights)
    : indices_(indices),
      weights_(weights),
      limit_(largest_result(type)),
      unit_(unit_roundoff(type)) {
  exact_below_ = unit_ > 0 ? 1 / unit_ : std::numeric_limits<double>::infinity();
  result_.elements.resize(indices.size());
}

void Scan::operator()(std::int64_t first, std::span<const double> values) {
  double largest = 0;
  std::size_t bad = 0;
  for (const double value : values) {
    const double size = std::abs(value);
    bad += !(size <= limit_);
    largest = size > largest ? size : largest;
  }
  if (bad > 0) note_bad(first, values, bad);
  if (weights_ != nullptr) add_weighted(first, values, largest > exact_below_);
  const std::int64_t end = first + static_cast<std::int64_t>(values.size());
  for (; next_ < indices_.size() && indices_[next_] < end; ++next_)
    result_.elements[next_] = values[static_cast<std::size_t>(indices_[next_] - first)];
}

ScanResult Scan::take() {
  result_.sum += carry_;
  result_.rounding /= 1 - unit_;  // u is relative to the value before rounding
  return std::move(result_);
}

void Scan::note_bad(std::int64_t first, std::span<const double> values, std::size_t count) {
  for (std::size_t i = 0; result_.bad == 0 && i < values.size(); ++i) {
    if (std::abs(values[i]) <= limit_) continue;
    result_.first_bad = first + static_cast<std::int64_t>(i);
    result_.bad_value = values[i];
    break;
  }
  result_.bad += static_cast<std::int64_t>(count);
}

void Scan::add_weighted(std::int64_t first, std::span<const double> values, bool rounded) {
  factors_.resize(values.size());
  weights_->fill(first, factors_);
  double sums[4] = {};
  for (std::size_t i = 0; i < values.size(); ++i) sums[i % 4] += factors_[i] * values[i];
  add((sums[0] + sums[1]) + (sums[2] + sums[3]));
  if (!rounded) return;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::abs(values[i]) > exact_below_)
      result_.rounding += std::abs(factors_[i] * values[i]) * unit_;
}

/// The sum of a block of integers is exact in fp64; that of the whole tensor may not be.
void Scan::add(double part) {
  const double sum = result_.sum, total = sum + part;
  carry_ += std::abs(sum) >= std::abs(part) ? (sum - total) + part : (part - total) + sum;
  result_.sum = total;
}

}  // namespace assay
