#include "core/measure/checker.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <utility>

#include "core/api/belief.hpp"
#include "core/api/prover.hpp"
#include "core/api/scan.hpp"
#include "core/base/error.hpp"

namespace assay {
namespace {

/// The value that an element should have. If a tensor's value equals the expected value, that is
/// representable, so rounding it would change nothing.
double find_target(DataType type, const Expected& want, double value) {
  return want.max_bound != 0 || value == want.value ? want.value : round_to(type, want.value);
}

void add(ElementComparison& comparison, DataType type, std::int64_t index, double value,
         const Expected& want) {
  comparison.add(index, value, find_target(type, want, value), no_result(type, value), want);
}

void tell(const ElementComparison& comparison, OutputCheck& check) {
  check.max_error = comparison.max_error;
  check.error_norm = std::sqrt(comparison.error_squares);
  check.bound_norm = std::sqrt(comparison.bound_squares);
  check.reference_norm = std::sqrt(comparison.reference_squares);
  check.reference_rms = std::sqrt(comparison.reference_squares /
                                  static_cast<double>(std::max<std::int64_t>(comparison.count, 1)));
  if (comparison.count == 0) return;
  check.bound_there = comparison.bound;
  check.error_over_bound = std::isfinite(comparison.worst_ratio) ? comparison.worst_ratio : 0;
}

/// True if the bounds cannot distinguish wrong results from correct ones. A few elements may be
/// small by chance: for them, all bounds must be wider than any result.
bool is_undecided(const ElementComparison& comparison) {
  return comparison.count < 16 ? comparison.count > 0 && comparison.least_bound > comparison.largest
                               : comparison.most_squares > comparison.reference_squares;
}

std::string describe_undecided(const TensorSpec& spec, const ElementComparison& comparison) {
  return fmt::format(
      "{}: an error bound of {:.2g} times the results' root mean square cannot tell a wrong "
      "result from a right one. Use an algorithm whose errors are smaller",
      spec.name, std::sqrt(comparison.most_squares / comparison.reference_squares));
}

std::string wrong_text(const TensorSpec& spec, const ElementComparison& comparison) {
  return fmt::format(
      "{} is {} (expected {} {}; {} of {} checked elements are wrong)",
      element_name(spec, comparison.worst), comparison.actual, comparison.target,
      comparison.bound == 0 ? "exactly" : fmt::format("within {:.3g}", comparison.bound),
      comparison.wrong, comparison.count);
}

/// Compares the elements of a range as they are read, many blocks at a time in several threads. The
/// findings of blocks are added in order, so no number depends on the threads.
class RangeCheck {
 public:
  RangeCheck(DataType type, const Expectation& expectation)
      : type_(type), expectation_(expectation) {}

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
  const ElementComparison& take() {
    compare();
    return comparison_;
  }

 private:
  static constexpr std::size_t block = 8192, at_once = 64;

  void compare() {
    const auto blocks = static_cast<std::ptrdiff_t>((read_.size() + block - 1) / block);
    std::vector<ElementComparison> comparisons(static_cast<std::size_t>(blocks));
    std::ptrdiff_t alone = 0;
    if (blocks > 0 && !std::exchange(begun_, true)) compare(alone++, comparisons.front());
    std::exception_ptr failure;  // an exception must not leave a parallel region
#pragma omp parallel for schedule(dynamic) if (blocks - alone > 1)
    for (std::ptrdiff_t i = alone; i < blocks; ++i) {
      try {
        compare(i, comparisons[static_cast<std::size_t>(i)]);
      } catch (...) {
#pragma omp critical(assay_check_failure)
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
    for (const ElementComparison& of_block : comparisons) comparison_.add(of_block);
    read_.clear();
  }

  void compare(std::ptrdiff_t which, ElementComparison& comparison) const {
    const std::size_t from = static_cast<std::size_t>(which) * block,
                      count = std::min(block, read_.size() - from);
    const std::int64_t first = first_ + static_cast<std::int64_t>(from);
    std::vector<Expected> expected(count);
    expectation_.block(first, expected);
    for (std::size_t i = 0; i < count; ++i)
      add(comparison, type_, first + static_cast<std::int64_t>(i), read_[from + i], expected[i]);
  }

  DataType type_;
  const Expectation& expectation_;
  ElementComparison comparison_;
  std::vector<double> read_;  ///< not compared yet, from element first_ on
  std::int64_t first_ = 0;
  bool begun_ = false;
};

/// True if two expectations are equal up to roundings of fp64, which are far below the bounds. Data
/// of a network may overflow: two values that are not finite count as equal.
bool agree(const Expected& a, const Expected& b, DataType type) {
  const auto within = [](double x, double y, double tolerance) {
    return x == y || (!std::isfinite(x) && !std::isfinite(y)) || std::abs(x - y) <= tolerance;
  };
  const double size = std::abs(a.value) + std::abs(b.value);
  // Bounds of fp64 are only a few roundings, and a fused multiply-add may save one of them.
  const double part = type == DataType::fp64 ? 0.5 : 1e-3;
  const auto near = [&](double x, double y) {
    return within(x, y, 1e-6 * (std::abs(x) + std::abs(y)) + 0x1p-50 * size);
  };
  return within(a.value, b.value, part * b.max_bound) && near(a.max_bound, b.max_bound) &&
         near(a.rms_bound, b.rms_bound);
}

/// True if the device has the formula. CaseError if device and host expect different values of a
/// sample of the range.
bool believe(Prover& prover, const TensorSpec& spec, const Expectation& expectation) {
  constexpr std::int64_t most = 64;
  const ElementRange& range = *expectation.whole;
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0, count = std::min(most, range.count); i < count; ++i)
    indices.push_back(range.first + (range.count - 1) / std::max<std::int64_t>(count - 1, 1) * i);
  const auto there = prover.expect(*expectation.formula, *expectation.inputs, indices);
  for (std::size_t i = 0; there && i < indices.size(); ++i) {
    Expected here;
    expectation.block(indices[i], std::span(&here, 1));
    if (!agree((*there)[i], here, spec.type))
      throw CaseError(fmt::format(
          "the GPU expects {} +- {:.3g} of {} where the host expects {} +- {:.3g}. Nothing that "
          "this GPU computes can be checked: update its driver, or test it (nvidia-smi, "
          "compute-sanitizer).",
          (*there)[i].value, (*there)[i].max_bound, element_name(spec, indices[i]), here.value,
          here.max_bound));
  }
  return there.has_value();
}

/// Compares a range on the device; nothing if only the host can.
std::optional<ElementComparison> compare_there(Device& device, Tensor& tensor,
                                               const Expectation& expectation) {
  Prover* const prover = device.prover();
  if (prover == nullptr || !expectation.whole || !expectation.formula) return std::nullopt;
  const ElementFormula& formula = *expectation.formula;
  const std::string what =
      fmt::format("{} {}{} {}", describe_belief(formula, *expectation.inputs),
                  static_cast<int>(tensor.spec().type), describe_order(tensor.spec()),
                  fmt::join(tensor.spec().dims, " "));
  if (prover->is_new(what)) {
    if (!believe(*prover, tensor.spec(), expectation)) return std::nullopt;
    prover->believe(what);
  }
  return prover->compare(tensor, *expectation.whole, *expectation.formula, *expectation.inputs);
}

}  // namespace

void expect_block(const Oracle& oracle, const TensorSpec& spec, const Inputs& inputs,
                  const Execution& execution, bool exact, std::int64_t first,
                  std::span<Expected> expected) {
  static thread_local std::vector<std::int64_t> indices;
  indices.resize(expected.size());
  std::iota(indices.begin(), indices.end(), first);
  oracle.expect(spec, inputs, execution, exact, indices, expected);
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
  ElementComparison comparison;
  std::optional<ElementComparison> there;
  if (all == nullptr) there = compare_there(device, tensor, expectation);
  const auto on_host = [&] {
    Scan scan(spec.type, expectation.indices, weights);
    RangeCheck range(spec.type, expectation);
    device.get(tensor, [&](std::int64_t first, std::span<const double> values) {
      scan(first, values);
      if (all != nullptr) all->insert(all->end(), values.begin(), values.end());
      if (expectation.whole) range(first, values);
    });
    comparison.add(range.take());
    return scan.take();
  };
  const ScanResult scanned = all != nullptr || (expectation.whole && !there)
                                 ? on_host()
                                 : device.scan(tensor, expectation.indices, weights);
  for (std::size_t i = 0; i < expectation.indices.size(); ++i)
    add(comparison, spec.type, expectation.indices[i], scanned.elements[i],
        expectation.expected[i]);
  if (there) comparison.add(*there);

  OutputCheck check;
  tell(comparison, check);
  check.wrong_elements = comparison.wrong + scanned.bad - comparison.bad;
  if (scanned.bad > 0) {
    const bool integer = spec.type == DataType::s32;
    check.failure = fmt::format(
        "{} is {} ({} of {} elements {})", element_name(spec, scanned.first_bad), scanned.bad_value,
        scanned.bad, spec.elements(),
        integer ? "overflowed or were not written" : "are not finite or were not written");
  } else if (comparison.wrong > 0) {
    check.failure = wrong_text(spec, comparison);
  } else if (check.error_norm > check.bound_norm && check.bound_norm > 0) {
    check.failure =
        fmt::format("{}: the error's 2-norm over {} elements is {:.4g} (at most {:.4g} is allowed)",
                    spec.name, comparison.count, check.error_norm, check.bound_norm);
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
  if (check.failure.empty() && is_undecided(comparison)) {
    check.undecided = true;
    check.failure = describe_undecided(spec, comparison);
  }
  return check;
}

}  // namespace assay
