#include "core/measure/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <utility>

#include "core/api/scan.hpp"

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
    if (no_result(type_, found)) ++bad_;
    const double ratio = error == 0             ? 0
                         : std::isfinite(error) ? error / want.max_bound
                                                : std::numeric_limits<double>::infinity();
    if (ratio > worst_ratio_) {
      worst_ratio_ = ratio;
      worst_ = {index, found, target, want.max_bound};
    }
    if (std::isfinite(error)) max_error_ = std::max(max_error_, error);
  }

  /// Adds the findings of another judge, of later elements.
  void add(const Judge& later) {
    if (later.count_ == 0) return;
    least_bound_ = count_ == 0 ? later.least_bound_ : std::min(least_bound_, later.least_bound_);
    largest_ = std::max(largest_, later.largest_);
    max_error_ = std::max(max_error_, later.max_error_);
    if (later.worst_ratio_ > worst_ratio_) {
      worst_ratio_ = later.worst_ratio_;
      worst_ = later.worst_;
    }
    count_ += later.count_;
    wrong_ += later.wrong_;
    bad_ += later.bad_;
    reference_squares_ += later.reference_squares_;
    bound_squares_ += later.bound_squares_;
    most_squares_ += later.most_squares_;
    error_squares_ += later.error_squares_;
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
  /// Elements that no_result() tells, which a scan counts, too.
  std::int64_t bad() const { return bad_; }
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
  std::int64_t count_ = 0, wrong_ = 0, bad_ = 0;
  double error_squares_ = 0, bound_squares_ = 0, most_squares_ = 0, reference_squares_ = 0,
         max_error_ = 0, worst_ratio_ = -1, least_bound_ = 0, largest_ = 0;
};

/// Compares the elements of a range as they are read, many blocks at a time in several threads.
/// It adds the findings of blocks in their order, so no number depends on the threads.
class RangeCheck {
 public:
  RangeCheck(DataType type, const Expectation& expectation)
      : type_(type), expectation_(expectation), judge_(type) {}

  void operator()(std::int64_t first, std::span<const double> values) {
    const ElementRange& whole = *expectation_.whole;
    const std::int64_t from = std::max(first, whole.first);
    const std::int64_t end =
        std::min(first + static_cast<std::int64_t>(values.size()), whole.first + whole.count);
    if (from >= end) return;
    if (read_.empty()) first_ = from;
    read_.insert(read_.end(), values.begin() + (from - first), values.begin() + (end - first));
    if (read_.size() >= at_once * block) compare();
  }
  const Judge& take() {
    compare();
    return judge_;
  }

 private:
  static constexpr std::size_t block = 8192, at_once = 64;

  void compare() {
    const auto blocks = static_cast<std::ptrdiff_t>((read_.size() + block - 1) / block);
    std::vector<Judge> found(static_cast<std::size_t>(blocks), Judge(type_));
    std::ptrdiff_t alone = 0;
    if (blocks > 0 && !std::exchange(begun_, true)) compare(alone++, found.front());
    std::exception_ptr failure;  // an exception must not leave a parallel region
#pragma omp parallel for schedule(dynamic) if (blocks - alone > 1)
    for (std::ptrdiff_t i = alone; i < blocks; ++i) {
      try {
        compare(i, found[static_cast<std::size_t>(i)]);
      } catch (...) {
#pragma omp critical(assay_check_failure)
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
    for (const Judge& of_block : found) judge_.add(of_block);
    read_.clear();
  }

  void compare(std::ptrdiff_t which, Judge& found) const {
    const std::size_t from = static_cast<std::size_t>(which) * block,
                      count = std::min(block, read_.size() - from);
    const std::int64_t first = first_ + static_cast<std::int64_t>(from);
    std::vector<Expected> expected(count);
    expectation_.block(first, expected);
    for (std::size_t i = 0; i < count; ++i)
      found.add(first + static_cast<std::int64_t>(i), read_[from + i], expected[i]);
  }

  DataType type_;
  const Expectation& expectation_;
  Judge judge_;
  std::vector<double> read_;  ///< not compared yet, from element first_ on
  std::int64_t first_ = 0;
  bool begun_ = false;
};

}  // namespace

void expect_block(const Oracle& oracle, const TensorSpec& spec, const Inputs& inputs,
                  const Executed& executed, bool exact, std::int64_t first,
                  std::span<Expected> expected) {
  static thread_local std::vector<std::int64_t> indices;
  indices.resize(expected.size());
  std::iota(indices.begin(), indices.end(), first);
  oracle.expect(spec, inputs, executed, exact, indices, expected);
}

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
  const ChecksumWeights* const weights =
      expectation.checksum ? &expectation.checksum->weights : nullptr;
  Judge judge(spec.type);
  const auto on_host = [&] {
    Scan scan(spec.type, expectation.indices, weights);
    RangeCheck range(spec.type, expectation);
    device.get(tensor, [&](std::int64_t first, std::span<const double> values) {
      scan(first, values);
      if (all != nullptr) all->insert(all->end(), values.begin(), values.end());
      if (expectation.whole) range(first, values);
    });
    judge.add(range.take());
    return scan.take();
  };
  const Scanned scanned = all != nullptr || expectation.whole
                              ? on_host()
                              : device.scan(tensor, expectation.indices, weights);
  for (std::size_t i = 0; i < expectation.indices.size(); ++i)
    judge.add(expectation.indices[i], scanned.elements[i], expectation.expected[i]);

  OutputCheck check;
  judge.tell(check);
  check.wrong_elements = judge.wrong() + scanned.bad - judge.bad();
  if (scanned.bad > 0) {
    const bool integer = spec.type == DataType::s32;
    check.failure = fmt::format(
        "{} is {} ({} of {} elements {})", element_name(spec, scanned.first_bad), scanned.bad_value,
        scanned.bad, spec.elements(),
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
    const double allowed = scanned.rounding + checksum.tolerance;
    check.checksum_exact = allowed == 0;
    if (!(std::abs(scanned.sum - checksum.sum) <= allowed)) {
      check.failure = fmt::format("{}: the weighted sum of all {} elements is {} (expected {}{})",
                                  spec.name, spec.elements(), scanned.sum, checksum.sum,
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
