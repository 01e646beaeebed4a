#include "core/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

namespace assay {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const std::size_t to = text.find(separator, from);
    parts.emplace_back(text.substr(from, to - from));
    if (to == std::string_view::npos) return parts;
    from = to + 1;
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts.begin(), parts.end(), separator));
}

std::string plain_name(std::string_view name) {
  constexpr std::size_t most = 100;
  std::string plain(name.substr(0, most));
  for (char& c : plain)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.')
      c = '_';
  return plain.starts_with(".") ? "_" + plain : plain;
}

namespace {

/// Optimal string alignment distance: insertions, deletions, substitutions, swaps of neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::string find_nearest(std::string_view name, std::span<const std::string> valid) {
  std::string best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string& candidate : valid) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    const std::size_t far = (longer + 2) / 3;
    std::size_t d = distance(name, candidate);
    // A part of a valid name ("onedn", "deepbench", "v100") is a likely mistake, however much is
    // missing.
    if (name.size() >= 3 && candidate.find(name) != std::string::npos) d = std::min(d, far);
    if (d <= far && d < least) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

std::string explain_unknown_name(std::string_view what, std::string_view name,
                                 std::span<const std::string> valid) {
  std::string message = fmt::format("unknown {} '{}'", what, name);
  if (!valid.empty() && valid.size() <= most_valid_names)
    message += fmt::format(" (valid: {})", join(valid, ", "));
  const std::string near = find_nearest(name, valid);
  return message + (near.empty() ? "." : fmt::format(". Did you mean '{}'?", near));
}

}  // namespace assay
