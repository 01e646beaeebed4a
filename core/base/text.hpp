#pragma once
// Names: lists of them, and the nearest valid one for a message.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);

/// The valid name with the smallest edit distance to `name` (Damerau-Levenshtein), or "" when none
/// is near (distance above a third of the longer length, rounded up). A part of at least three
/// characters is near.
std::string nearest(std::string_view name, std::span<const std::string> valid);

/// "unknown <what> 'x' (valid: a, b, c). Did you mean 'a'?" -- the one wording of every message
/// about a wrong name. With more than 20 valid names only the nearest is told.
std::string unknown_name(std::string_view what, std::string_view name,
                         std::span<const std::string> valid);

}  // namespace assay
