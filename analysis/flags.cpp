#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "analysis/commands.hpp"
#include "core/error.hpp"

namespace assay {

std::vector<std::string> values_of(const Given& given, const std::string& flag) {
  const auto found = given.find(flag);
  return found == given.end() ? std::vector<std::string>{} : found->second;
}

std::optional<std::string> value_of(const Given& given, const std::string& flag) {
  const auto values = values_of(given, flag);
  return values.empty() ? std::nullopt : std::optional(values.back());
}

namespace {

template <class T>
std::optional<T> parsed(const std::string& text) {
  T number{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<double> seconds_of(const Given& given, const std::string& flag) {
  const auto text = value_of(given, flag);
  if (!text) return std::nullopt;
  const auto number = parsed<double>(*text);
  if (!number || !std::isfinite(*number) || *number <= 0)
    throw InputError(fmt::format(
        "--{} '{}' is no positive number of seconds. Give one like --{} 2.5.", flag, *text, flag));
  return number;
}

std::optional<std::uint64_t> whole_of(const Given& given, const std::string& flag,
                                      std::uint64_t least, std::uint64_t most) {
  const auto text = value_of(given, flag);
  if (!text) return std::nullopt;
  const auto number = parsed<std::uint64_t>(*text);
  if (!number || *number < least || *number > most)
    throw InputError(
        fmt::format("--{} '{}' is no whole number from {} to {}.", flag, *text, least, most));
  return number;
}

}  // namespace assay
