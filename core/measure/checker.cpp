#include "core/measure/checker.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

/// Compares elements one by one, and keeps the sums and the worst of them.
class Judge {
 public:
  explicit Judge(DataType type) : type_(type) {}

  void add(std::int64_t index, double found, const Expected& want) {
    const double target = target_of(want, found);
    const double error = std::abs(found - target);
    ++count_;
    reference_squares_ += want.value * want.value;
    bound_squares_ += want.rms_bound * want.rms_bound;
    most_squares_ += want.max_bound * want.max_bound;
    least_bound_ = count_ == 1 ? want.max_bound : std::min(least_bound_, want.max_bound);
    largest_ = std::max(largest_, std::abs(want.value));
    error_squares_ += error * error;
    if (!(error <= want.max_bound)) ++wrong_;  // NaN is wrong, too
    const double ratio = error == 0             ? 0
                         : std::isfinite(error) ? error / want.max_bound
                                                : std::numeric_limits<double>::infinity();
    if (ratio > worst_ratio_) {
      worst_ratio_ = ratio;
      worst_ = {index, found, target, want.max_bound};
    }
    if (std::isfinite(error)) max_error_ = std::max(max_error_, error);
  }

  void tell(OutputCheck& check) const {
    check.max_error = max_error_;
    check.error_norm = std::sqrt(error_squares_);
    check.bound_norm = std::sqrt(bound_squares_);
    check.reference_norm = std::sqrt(reference_squares_);
    check.reference_rms =
        std::sqrt(reference_squares_ / static_cast<double>(std::max<std::int64_t>(count_, 1)));
    if (count_ == 0) return;
    check.bound_there = worst_.bound;
    check.error_over_bound = std::isfinite(worst_ratio_) ? worst_ratio_ : 0;
  }

  std::int64_t wrong() const { return wrong_; }
  /// Of a few elements some may happen to be small: there all bounds are wider than any result.
  bool undecided() const {
    return count_ < 16 ? count_ > 0 && least_bound_ > largest_ : most_squares_ > reference_squares_;
  }
  std::string undecided_text(const TensorSpec& spec) const {
    return fmt::format(
        "{}: an error bound of {:.2g} times the results' root mean square cannot tell a wrong "
        "result from a right one. Use an algorithm whose errors are smaller",
        spec.name, std::sqrt(most_squares_ / reference_squares_));
  }
  std::string wrong_text(const TensorSpec& spec) const {
    return fmt::format("{} is {} (expected {} {}; {} of {} checked elements are wrong)",
                       element_name(spec, worst_.index), worst_.found, worst_.target,
                       worst_.bound == 0 ? "exactly" : fmt::format("within {:.3g}", worst_.bound),
                       wrong_, count_);
  }
  std::int64_t count() const { return count_; }

 private:
  double target_of(const Expected& want, double found) const {
    // What a tensor holds is representable: where it equals the value, rounding changes nothing.
    if (want.max_bound != 0 || found == want.value) return want.value;
    return round_to(type_, want.value);
  }

  struct Worst {
    std::int64_t index = 0;
    double found = 0, target = 0, bound = 0;
  };
  DataType type_;
  Worst worst_;
  std::int64_t count_ = 0, wrong_ = 0;
  double error_squares_ = 0, bound_squares_ = 0, most_squares_ = 0, reference_squares_ = 0,
         max_error_ = 0, worst_ratio_ = -1, least_bound_ = 0, largest_ = 0;
};

/// One pass over all elements: the weighted sum, the first element that is no result, and the
/// elements of the sample.
class Scan {
 public:
  /// `weights`: of the sum; null: no sum is wanted.
  Scan(DataType type, std::span<const std::int64_t> indices, const ChecksumWeights* weights)
      : indices_(indices), found_(indices.size()), weights_(weights) {
    limit_ = type == DataType::s32 ? 2147483647.0 : std::numeric_limits<double>::max();
    const double u = unit_roundoff(type);
    exact_below_ = u > 0 ? 1 / u : std::numeric_limits<double>::infinity();
    unit_ = u;
  }

  void operator()(std::int64_t first, std::span<const double> values) {
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
    for (; next_ < indices_.size() && indices_[next_] < end; ++next_) {
      found_[next_] = values[static_cast<std::size_t>(indices_[next_] - first)];
    }
  }

  bool is_bad(double value) const { return !(std::abs(value) <= limit_); }
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
  void add_weighted(std::int64_t first, std::span<const double> values, bool rounded) {
    factors_.resize(values.size());
    weights_->fill(first, factors_);
    double sums[4] = {};
    for (std::size_t i = 0; i < values.size(); ++i) sums[i % 4] += factors_[i] * values[i];
    add((sums[0] + sums[1]) + (sums[2] + sums[3]));
    if (!rounded) return;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (std::abs(values[i]) > exact_below_)
        rounding_ += std::abs(factors_[i] * values[i]) * unit_;
  }
  /// Neumaier's sum: a block's integers are exact in fp64, the whole tensor's need not be.
  void add(double part) {
    const double total = sum_ + part;
    carry_ += std::abs(sum_) >= std::abs(part) ? (sum_ - total) + part : (part - total) + sum_;
    sum_ = total;
  }

  std::span<const std::int64_t> indices_;
  std::vector<double> found_, factors_;
  const ChecksumWeights* weights_;
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

OutputCheck check_output(Device& device, Tensor& tensor, const Expectation& expectation,
                         std::vector<double>* all) {
  const TensorSpec& spec = tensor.spec();
  Scan scan(spec.type, expectation.indices,
            expectation.checksum ? &expectation.checksum->weights : nullptr);
  Judge judge(spec.type);
  std::vector<Expected> expected;
  std::int64_t judged_bad = 0;  // counted by the scan and by the judge
  const auto compare = [&](std::int64_t index, double found, const Expected& want) {
    judge.add(index, found, want);
    if (scan.is_bad(found)) ++judged_bad;
  };
  device.get(tensor, [&](std::int64_t first, std::span<const double> values) {
    scan(first, values);
    if (all != nullptr) all->insert(all->end(), values.begin(), values.end());
    if (!expectation.whole) return;
    const ElementRange& whole = *expectation.whole;
    const std::int64_t from = std::max(first, whole.first);
    const std::int64_t end =
        std::min(first + static_cast<std::int64_t>(values.size()), whole.first + whole.count);
    if (from >= end) return;
    expected.resize(static_cast<std::size_t>(end - from));
    expectation.block(from, expected);
    for (std::int64_t i = from; i < end; ++i)
      compare(i, values[static_cast<std::size_t>(i - first)],
              expected[static_cast<std::size_t>(i - from)]);
  });
  for (std::size_t i = 0; i < expectation.indices.size(); ++i)
    compare(expectation.indices[i], scan.found()[i], expectation.expected[i]);

  OutputCheck check;
  judge.tell(check);
  check.wrong_elements = judge.wrong() + scan.bad() - judged_bad;
  if (scan.bad() > 0) {
    const bool integer = spec.type == DataType::s32;
    check.failure = fmt::format(
        "{} is {} ({} of {} elements {})", element_name(spec, scan.first_bad()), scan.bad_value(),
        scan.bad(), spec.elements(),
        integer ? "overflowed or were not written" : "are not finite or were not written");
  } else if (judge.wrong() > 0) {
    check.failure = judge.wrong_text(spec);
  } else if (check.error_norm > check.bound_norm && check.bound_norm > 0) {
    check.failure =
        fmt::format("{}: the error's 2-norm over {} elements is {:.4g} (at most {:.4g} is allowed)",
                    spec.name, judge.count(), check.error_norm, check.bound_norm);
  }
  if (check.failure.empty() && expectation.checksum) {
    const Checksum& checksum = *expectation.checksum;
    const double allowed = scan.rounding() + checksum.tolerance;
    check.checksum_exact = allowed == 0;
    if (!(std::abs(scan.sum() - checksum.sum) <= allowed)) {
      check.failure = fmt::format("{}: the weighted sum of all {} elements is {} (expected {}{})",
                                  spec.name, spec.elements(), scan.sum(), checksum.sum,
                                  allowed == 0 ? "" : fmt::format(" within {:.3g}", allowed));
    }
  }
  if (check.failure.empty() && judge.undecided()) {
    check.undecided = true;
    check.failure = judge.undecided_text(spec);
  }
  return check;
}

}  // namespace assay
