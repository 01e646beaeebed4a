#pragma once
// Compares one output tensor with what the oracle expects of it.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/api/device.hpp"
#include "core/api/oracle.hpp"

namespace assay {

/// Weighted sum of all elements of a tensor, and how far rounding errors may move it.
struct Checksum {
  double sum = 0;
  double tolerance = 0;  ///< beside the rounding of what is stored, which the check adds
  ChecksumWeights weights;
};

/// What one output must be: the sample's indices (sorted), their expected values, and the checksum
/// of all elements; or a range of elements that is checked whole, whose expected values are made
/// block by block.
struct Expectation {
  std::vector<std::int64_t> indices;
  std::vector<Expected> expected;
  std::optional<Checksum> checksum;
  std::optional<ElementRange> whole;
  std::function<void(std::int64_t first, std::span<Expected>)> block;
  std::int64_t checked() const {
    return whole ? whole->count : static_cast<std::int64_t>(indices.size());
  }
};

/// A value that no result has, with which outputs are filled before they are computed: NaN, or the
/// least s32. The 8-bit types have no such value; there the checksum shows what was not written.
double poison(DataType type);

/// "dst[3,1,0,7]"
std::string element_name(const TensorSpec& spec, std::int64_t index);

/// The outcome of checking one tensor.
struct OutputCheck {
  std::string failure;              ///< empty: passed
  std::int64_t wrong_elements = 0;  ///< out of bounds, not finite or not written
  double max_error = 0, bound_there = 0, error_over_bound = 0;  ///< absolute
  double error_norm = 0, bound_norm = 0, reference_norm = 0;    ///< ||.||_2 over the sample
  double reference_rms = 0;
  bool checksum_exact = false;  ///< compared, and no rounding was allowed for
  /// The bounds are wider than the results, so that a wrong one could not be told from a right one;
  /// `failure` says so.
  bool undecided = false;
};

/// Reads all of `tensor`: every element finite and written, the sample (or the range)
/// within its bounds, the norm test, the checksum. Memory: one value per index of the sample.
/// `all`: where not null, all elements are appended to it.
OutputCheck check_output(Device& device, Tensor& tensor, const Expectation& expectation,
                         std::vector<double>* all = nullptr);

}  // namespace assay
