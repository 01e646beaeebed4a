#pragma once
// Parsing of numbers in files and on the command line. Functions with the argument `flag`
// ("--tolerance") throw InputError; the message begins with it.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The number that the whole text denotes, in the syntax of std::from_chars: without blanks and
/// plus sign; an unsigned number without any sign. Nothing if the text is not a number or does not
/// fit. A floating-point number may be infinite or NaN.
template <class Number = double>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

double number_between(const std::string& flag, const std::string& text, double least, double most);

/// A positive finite number up to `most`. `what` ("number of seconds") is used in the message.
double positive_number(const std::string& flag, const std::string& text, const std::string& what,
                       double most);

/// A time in seconds. The limit (about thirty years) keeps all arithmetic with clocks in range.
double seconds_number(const std::string& flag, const std::string& text);

double precision_target_number(const std::string& flag, const std::string& text);
double reference_budget_number(const std::string& flag, const std::string& text);
constexpr std::uint64_t most_samples = 1000000;

/// A whole number from `least` to `most`, without sign.
std::uint64_t whole_number(const std::string& flag, const std::string& text, std::uint64_t least,
                           std::uint64_t most);

/// A size in bytes from 0 to `most`: digits and an optional unit K, M, G or T (also KiB, MiB, …);
/// K is 1024 bytes, as in nccl-tests. "KB" is refused because it may mean 1000 bytes.
std::int64_t size_number(const std::string& flag, const std::string& text, std::int64_t most);

/// The sizes of "FROM:TO:FACTOR" ("8:64M:2"): FROM, FROM*FACTOR, FROM*FACTOR*FACTOR, … up to TO. A
/// text without colons is one size. Also refused: FROM of 0 or above TO, FACTOR below 2.
std::vector<std::int64_t> size_range(const std::string& flag, const std::string& text,
                                     std::int64_t most);

/// Help of flags that the benchmarks and `assay run` share.
constexpr const char* max_time_help =
    "seconds of timed iterations per case at most (at least 10 samples, unless one alone takes "
    "longer)";
constexpr const char* precision_target_help =
    "stop when the 95 % interval of the median is narrower than this part of the median";
constexpr const char* min_samples_help = "samples per case at least, if max-time allows";
constexpr const char* reference_budget_help =
    "multiply-adds that the fp64 reference may do per verification";

}  // namespace assay
