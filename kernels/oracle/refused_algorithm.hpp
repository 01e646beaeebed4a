#pragma once
// The refusal of an algorithm that a backend does not have, in the same words in all backends.

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "core/api/operation.hpp"

namespace assay {

/// Nothing if the algorithm of the case is auto or one of `known`. `remark`: "it has direct", or
/// "".
inline std::optional<Unsupported> refuse_algorithm(const Options& options, std::string_view backend,
                                                   std::initializer_list<std::string_view> known,
                                                   std::string_view operation,
                                                   std::string_view remark = "") {
  const std::string algorithm = options.get("algorithm", "auto");
  if (algorithm == "auto" || std::ranges::find(known, algorithm) != known.end())
    return std::nullopt;
  return Unsupported{fmt::format("{} has no algorithm {} for {}{}. Use auto.", backend, algorithm,
                                 operation, remark.empty() ? "" : fmt::format(" ({})", remark))};
}

}  // namespace assay
