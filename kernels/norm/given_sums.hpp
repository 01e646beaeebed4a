#pragma once
// Sums of a batch normalization in training that the convolution before it makes: of each channel
// of its output, of the elements and of their squares, in fp32.

#include <array>

namespace assay {

/// Options::settings of both operations, "beside": a convolution in the direction `forward` then
/// has these workspaces [oc], which it writes, and a normalization in the direction
/// `forward_training` has them as inputs. A backend that makes an operation without them has not
/// obeyed.
inline constexpr const char* norm_sums = "sums";
inline constexpr std::array norm_sums_arguments{"norm_sum", "norm_square_sum"};

/// The number of Execution, of such a normalization: the sums may be of elements before they were
/// rounded to the type of src (docs/method-norm.md).
inline constexpr const char* norm_sums_given = "sums_beside_convolution";

}  // namespace assay
