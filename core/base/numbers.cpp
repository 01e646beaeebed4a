#include "core/base/numbers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

double number_between(const std::string& flag, const std::string& text, double least, double most) {
  const auto number = parse_number(text);
  if (!number || !(*number >= least && *number <= most))
    throw InputError(fmt::format("{} '{}' is not a number from {} to {}. Give a number like {} {}.",
                                 flag, text, least, most, flag, least));
  return *number;
}

double positive_number(const std::string& flag, const std::string& text, const std::string& what,
                       double most) {
  const auto number = parse_number(text);
  if (!number || !std::isfinite(*number) || *number <= 0 || *number > most)
    throw InputError(fmt::format("{} '{}' is not a positive {} (at most {}). Give one like {} 0.5.",
                                 flag, text, what, most, flag));
  return *number;
}

double seconds_number(const std::string& flag, const std::string& text) {
  return positive_number(flag, text, "number of seconds", 1e9);
}

double precision_target_number(const std::string& flag, const std::string& text) {
  return positive_number(flag, text, "part of the median", 1);
}

double reference_budget_number(const std::string& flag, const std::string& text) {
  return positive_number(flag, text, "number of multiply-adds", 1e18);
}

std::uint64_t whole_number(const std::string& flag, const std::string& text, std::uint64_t least,
                           std::uint64_t most) {
  const auto number = parse_number<std::uint64_t>(text);
  if (!number || *number < least || *number > most)
    throw InputError(
        fmt::format("{} '{}' is not a whole number in range ({} to {}). Give one like {} {}.", flag,
                    text, least, most, flag, least == 0 ? 1 : least));
  return *number;
}

std::int64_t size_number(const std::string& flag, const std::string& text, std::int64_t most) {
  constexpr std::string_view units = "KMGT";
  std::string digits = text;
  if (digits.ends_with("iB")) digits.resize(digits.size() - 2);
  int shift = 0;
  const std::size_t unit = digits.empty() ? units.npos : units.find(digits.back());
  if (unit != units.npos) {
    shift = 10 * (static_cast<int>(unit) + 1);
    digits.pop_back();
  }
  const auto number = parse_number<std::uint64_t>(digits);
  const bool unit_expected = text.ends_with("iB");
  if (!number || (unit_expected && shift == 0) ||
      *number > static_cast<std::uint64_t>(most) >> shift)
    throw InputError(
        fmt::format("{} '{}' is not a size in bytes (expected a whole number of at most {} bytes "
                    "with an optional unit K, M, G or T). Use {} 400000 or {} 64K.",
                    flag, text, most, flag, flag));
  return static_cast<std::int64_t>(*number << shift);
}

std::vector<std::int64_t> size_range(const std::string& flag, const std::string& text,
                                     std::int64_t most) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() == 1) return {size_number(flag, text, most)};
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("{} '{}' is not a range of sizes ({}). Use {} 8:64M:2.", flag,
                                 text, why, flag));
  };
  if (parts.size() != 3) refuse("expected FROM:TO:FACTOR");
  const std::int64_t from = size_number(flag, parts[0], most),
                     to = size_number(flag, parts[1], most);
  const auto factor = parse_number<std::int64_t>(parts[2]);
  if (from < 1 || from > to) refuse("FROM is 0 or larger than TO");
  if (!factor || *factor < 2) refuse("FACTOR is not a whole number of at least 2");
  std::vector<std::int64_t> sizes{from};
  while (sizes.back() <= to / *factor) sizes.push_back(sizes.back() * *factor);
  return sizes;
}

}  // namespace assay
