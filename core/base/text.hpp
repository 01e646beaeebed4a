#pragma once
// Lists in texts, names made safe, and messages about unknown names.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);

/// A name that comes from a file, as part of a file's name or a line of a script: at most 100
/// letters, digits, '-', '_' and '.', without a '.' in front; '_' for every other character.
std::string plain_name(std::string_view name);

/// The valid name with the smallest edit distance to `name` (Damerau-Levenshtein), or "" if that
/// distance exceeds a third of the longer name (rounded up). A valid name that contains `name` is
/// near at any length, if `name` has at least three characters.
std::string find_nearest(std::string_view name, std::span<const std::string> valid);

/// The most valid names that a message lists.
inline constexpr std::size_t most_valid_names = 20;
/// The message about an unknown name: "unknown <what> 'x' (valid: a, b, c). Did you mean 'a'?".
/// Only the nearest name is shown if there are more than most_valid_names.
std::string explain_unknown_name(std::string_view what, std::string_view name,
                                 std::span<const std::string> valid);

}  // namespace assay
