#pragma once
// Sums for a batch normalization in training, computed by the convolution before it: for each
// channel of its output, the sum of the elements and that of their squares, in fp32.

#include <array>

namespace assay {

/// The key in Options::settings of both operations; its value is "beside". A convolution in the
/// direction `forward` then has these workspaces [oc], which it writes, and a normalization in the
/// direction `forward_training` has them as inputs. A backend that returns an operation without
/// them has ignored the setting.
inline constexpr const char* norm_sums = "sums";
inline constexpr std::array norm_sums_arguments{"norm_sum", "norm_square_sum"};

/// The number that Execution of such a normalization reports: the sums may include elements before
/// their rounding to the type of src (docs/method-norm.md).
inline constexpr const char* norm_sums_given = "sums_beside_convolution";

}  // namespace assay
