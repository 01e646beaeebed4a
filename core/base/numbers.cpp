#include "core/base/numbers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "core/base/error.hpp"

namespace assay {

namespace {

/// std::from_chars takes no blanks, no sign for unsigned numbers, and tells an overflow.
template <class T>
std::optional<T> parsed(const std::string& text) {
  T number{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

}  // namespace

double positive_number(const std::string& flag, const std::string& text, const std::string& what,
                       double most) {
  const auto number = parsed<double>(text);
  if (!number || !std::isfinite(*number) || *number <= 0 || *number > most)
    throw InputError(fmt::format("{} '{}' is no positive {} (at most {}). Give one like {} 0.5.",
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
  const auto number = parsed<std::uint64_t>(text);
  if (!number || *number < least || *number > most)
    throw InputError(
        fmt::format("{} '{}' is no whole number in range ({} to {}). Give one like {} {}.", flag,
                    text, least, most, flag, least == 0 ? 1 : least));
  return *number;
}

}  // namespace assay
