#pragma once
// Compares one output tensor with the values that the oracle expects.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/api/device.hpp"
#include "core/api/oracle.hpp"

namespace assay {

/// Expected weighted sum of all elements of a tensor.
struct Checksum {
  double sum = 0;
  double tolerance = 0;  ///< absolute; the check adds the rounding of the stored elements to it
  ChecksumWeights weights;
};

/// The expected values of one output: either of a sample of its elements, with a checksum of all
/// elements, or of a whole range of elements, which are computed block by block.
struct Expectation {
  std::vector<std::int64_t> indices;  ///< the sample: sorted row-major element indices
  std::vector<Expected> expected;     ///< of the sample, in the order of `indices`
  std::optional<Checksum> checksum;
  std::optional<ElementRange> whole;  ///< if set, the sample is empty and `block` gives the values
  /// Computes the expected values of elements [first, first + size of the span). Several threads
  /// call it, after its first call has returned (Oracle::whole).
  std::function<void(std::int64_t first, std::span<Expected>)> block;
  /// The formula of `block`, as code that a device may have; `inputs` are those that it reads.
  std::optional<ElementFormula> formula{};
  std::shared_ptr<const Inputs> inputs{};
  /// Number of elements that are compared.
  std::int64_t checked() const {
    return whole ? whole->count : static_cast<std::int64_t>(indices.size());
  }
};

/// Oracle::expect() of elements [first, first + expected.size()), for Expectation::block.
void expect_block(const Oracle& oracle, const TensorSpec& spec, const Inputs& inputs,
                  const Execution& execution, bool exact, std::int64_t first,
                  std::span<Expected> expected);

/// A value that no result has, written to outputs before they are computed: NaN, or the smallest
/// s32. The 8-bit types have no such value; for them the checksum shows elements that were not
/// written.
double poison(DataType type);

/// The name of an element in messages, from its row-major index: "dst[3,1,0,7]".
std::string element_name(const TensorSpec& spec, std::int64_t index);

/// The outcome of checking one tensor.
struct OutputCheck {
  std::string failure;              ///< empty: passed
  std::int64_t wrong_elements = 0;  ///< beyond their bound, not finite, or not written
  double max_error = 0;             ///< largest finite |computed - expected|
  double bound_there = 0;           ///< max_bound of the element with the largest error / bound
  double error_over_bound = 0;      ///< that largest |computed - expected| / max_bound
  /// 2-norms over the sample: of the errors, of Expected::rms_bound, of Expected::value.
  double error_norm = 0, bound_norm = 0, reference_norm = 0;
  double reference_rms = 0;     ///< root mean square of Expected::value over the sample
  bool checksum_exact = false;  ///< the checksum was compared with tolerance 0
  /// The error bounds are larger than the results, so that a wrong result cannot be told from a
  /// correct one. `failure` says so.
  bool undecided = false;
};

/// Reads the whole of `tensor` and checks that every element is finite and written, that the sample
/// (or the range) is within its bounds, the norm of the errors, and the checksum. Needs memory for
/// one value for each index of the sample. Appends all elements to `all` unless it is null.
OutputCheck check_output(Device& device, Tensor& tensor, const Expectation& expectation,
                         std::vector<double>* all = nullptr);

}  // namespace assay
