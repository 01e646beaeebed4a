#include "core/checker.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

/// One pass over all elements: the sum, the first element that is no result, and the elements of
/// the sample.
class Scan {
 public:
  Scan(DataType type, std::span<const std::int64_t> indices)
      : indices_(indices), found_(indices.size()) {
    limit_ = type == DataType::s32 ? 2147483647.0 : std::numeric_limits<double>::max();
    const double u = unit_roundoff(type);
    exact_below_ = u > 0 ? 1 / u : std::numeric_limits<double>::infinity();
    unit_ = u;
  }

  void operator()(std::int64_t first, std::span<const double> values) {
    double sums[4] = {}, largest = 0;
    std::size_t bad = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double size = std::abs(values[i]);
      sums[i % 4] += values[i];
      bad += !(size <= limit_);
      largest = size > largest ? size : largest;
    }
    if (bad > 0) note_bad(first, values, bad);
    if (largest > exact_below_) {
      for (const double value : values) {
        if (std::abs(value) > exact_below_) rounding_ += std::abs(value) * unit_;
      }
    }
    add((sums[0] + sums[1]) + (sums[2] + sums[3]));
    const std::int64_t end = first + static_cast<std::int64_t>(values.size());
    for (; next_ < indices_.size() && indices_[next_] < end; ++next_) {
      found_[next_] = values[static_cast<std::size_t>(indices_[next_] - first)];
    }
  }

  std::int64_t bad() const { return bad_; }
  std::int64_t first_bad() const { return first_bad_; }
  double bad_value() const { return bad_value_; }
  double sum() const { return sum_ + carry_; }
  /// By how much storing rounded sums may move the checksum: 0 while all elements are integers that
  /// the type holds.
  double rounding() const { return rounding_ / (1 - unit_); }
  const std::vector<double>& found() const { return found_; }

 private:
  void note_bad(std::int64_t first, std::span<const double> values, std::size_t count) {
    for (std::size_t i = 0; bad_ == 0 && i < values.size(); ++i) {
      if (std::abs(values[i]) <= limit_) continue;
      first_bad_ = first + static_cast<std::int64_t>(i);
      bad_value_ = values[i];
      break;
    }
    bad_ += static_cast<std::int64_t>(count);
  }
  /// Neumaier's sum: a block's integers are exact in fp64, the whole tensor's need not be.
  void add(double part) {
    const double total = sum_ + part;
    carry_ += std::abs(sum_) >= std::abs(part) ? (sum_ - total) + part : (part - total) + sum_;
    sum_ = total;
  }

  std::span<const std::int64_t> indices_;
  std::vector<double> found_;
  std::size_t next_ = 0;
  double limit_ = 0, exact_below_ = 0, unit_ = 0, rounding_ = 0, sum_ = 0, carry_ = 0,
         bad_value_ = 0;
  std::int64_t bad_ = 0, first_bad_ = 0;
};

}  // namespace

double poison(DataType type) {
  switch (type) {
    case DataType::s32:
      return -2147483648.0;
    case DataType::s8:
      return -128;
    case DataType::u8:
      return 255;
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

std::string element_name(const TensorSpec& spec, std::int64_t index) {
  std::string place;
  for (std::size_t d = spec.dims.size(); d-- > 0; index /= spec.dims[d]) {
    place = fmt::format("{}{}{}", index % spec.dims[d], place.empty() ? "" : ",", place);
  }
  return fmt::format("{}[{}]", spec.name, place);
}

OutputCheck check_output(Device& device, Tensor& tensor, const Expectation& expectation) {
  const TensorSpec& spec = tensor.spec();
  Scan scan(spec.type, expectation.indices);
  device.get(tensor, std::ref(scan));

  OutputCheck check;
  std::int64_t wrong = 0;
  std::size_t worst = 0;
  double error_squares = 0, bound_squares = 0, reference_squares = 0, worst_ratio = -1;
  for (std::size_t i = 0; i < expectation.indices.size(); ++i) {
    const Expected& want = expectation.expected[i];
    const double target = want.max_bound == 0 ? round_to(spec.type, want.value) : want.value;
    const double error = std::abs(scan.found()[i] - target);
    reference_squares += want.value * want.value;
    bound_squares += want.rms_bound * want.rms_bound;
    error_squares += error * error;
    if (!(error <= want.max_bound)) ++wrong;  // NaN is wrong, too
    const double ratio = error == 0             ? 0
                         : std::isfinite(error) ? error / want.max_bound
                                                : std::numeric_limits<double>::infinity();
    if (ratio > worst_ratio) {
      worst_ratio = ratio;
      worst = i;
    }
    if (std::isfinite(error)) check.max_error = std::max(check.max_error, error);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(expectation.indices.size(), 1));
  check.error_norm = std::sqrt(error_squares);
  check.bound_norm = std::sqrt(bound_squares);
  check.reference_norm = std::sqrt(reference_squares);
  check.reference_rms = std::sqrt(reference_squares / count);
  if (!expectation.indices.empty()) {
    check.bound_there = expectation.expected[worst].max_bound;
    check.error_over_bound = std::isfinite(worst_ratio) ? worst_ratio : 0;
  }

  if (scan.bad() > 0) {
    const bool unwritten = spec.type == DataType::s32;
    check.failure =
        fmt::format("{} is {} ({} of {} elements {})", element_name(spec, scan.first_bad()),
                    scan.bad_value(), scan.bad(), spec.elements(),
                    unwritten ? "were not written" : "are not finite or were not written");
  } else if (wrong > 0) {
    const Expected& want = expectation.expected[worst];
    const double target = want.max_bound == 0 ? round_to(spec.type, want.value) : want.value;
    check.failure =
        fmt::format("{} is {} (expected {} {}; {} of {} checked elements are wrong)",
                    element_name(spec, expectation.indices[worst]), scan.found()[worst], target,
                    want.max_bound == 0 ? "exactly" : fmt::format("within {:.3g}", want.max_bound),
                    wrong, expectation.indices.size());
  } else if (check.error_norm > check.bound_norm && check.bound_norm > 0) {
    check.failure =
        fmt::format("{}: the error's 2-norm over {} elements is {:.4g} (at most {:.4g} is allowed)",
                    spec.name, expectation.indices.size(), check.error_norm, check.bound_norm);
  }
  if (check.failure.empty() && expectation.checksum) {
    const double difference = std::abs(scan.sum() - *expectation.checksum);
    check.checksum_exact = scan.rounding() == 0;
    if (!(difference <= scan.rounding())) {
      check.failure =
          fmt::format("{}: the sum of all {} elements is {} (expected {}{})", spec.name,
                      spec.elements(), scan.sum(), *expectation.checksum,
                      scan.rounding() == 0 ? "" : fmt::format(" within {:.3g}", scan.rounding()));
    }
  }
  return check;
}

}  // namespace assay
