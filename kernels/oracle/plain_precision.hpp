#pragma once
// The precisions of operations that store all their tensors alike.

#include <fmt/format.h>

#include <optional>
#include <string>

#include "core/api/precision.hpp"

namespace assay {

/// The reason why `operation` ("a sum") has no such precision; nothing for fp64, fp32, bf16 and
/// fp16. `has`: what it has instead.
inline std::optional<std::string> why_not_plain(
    Precision precision, const char* operation,
    const char* has = "it has fp64, fp32, bf16 and fp16") {
  if (precision == Precision::fp64 || precision == Precision::fp32 ||
      precision == Precision::bf16 || precision == Precision::fp16)
    return std::nullopt;
  return fmt::format("{} has no {} ({}).", operation, name(precision), has);
}

}  // namespace assay
