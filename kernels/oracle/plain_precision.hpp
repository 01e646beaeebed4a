#pragma once
// The precisions of operations whose tensors all have one type.

#include <fmt/format.h>

#include <optional>
#include <string>

#include "core/api/precision.hpp"

namespace assay {

/// The reason why `operation` ("a sum") does not have this precision; nothing for fp64, fp32, bf16
/// and fp16. `has`: the precisions that it has.
inline std::optional<std::string> why_not_plain(
    Precision precision, const char* operation,
    const char* has = "it has fp64, fp32, bf16 and fp16") {
  if (precision == Precision::fp64 || precision == Precision::fp32 ||
      precision == Precision::bf16 || precision == Precision::fp16)
    return std::nullopt;
  return fmt::format("{} has no {} ({}).", operation, name(precision), has);
}

/// The same for operations whose tensors must all have one type: "pooling has no int8 (…). Use
/// fp32.".
inline std::optional<std::string> why_not_stored_alike(Precision precision, const char* operation) {
  if (precision == Precision::tf32)
    return fmt::format("{} multiplies no matrices (tf32 is a precision of those). Use fp32.",
                       operation);
  if (precision == Precision::int8 || is_mixed(precision))
    return fmt::format("{} has no {} (it stores all activations alike). Use {}.", operation,
                       name(precision), precision == Precision::int8 ? "fp32" : "bf16 or fp16");
  return std::nullopt;
}

}  // namespace assay
