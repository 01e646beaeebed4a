#include "analysis/history/times.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <regex>

#include "core/error.hpp"

namespace assay {

double time_of(const std::string& text, const std::string& where) {
  static const std::regex form(
      R"((\d{4})-(\d\d)-(\d\d)(?:[Tt](\d\d):(\d\d):(\d\d(?:\.\d{1,9})?)[Zz])?)");
  std::smatch parts;
  if (std::regex_match(text, parts, form)) {
    const auto number = [&](std::size_t i) {
      return parts[i].matched ? static_cast<unsigned>(std::stoul(parts[i].str())) : 0U;
    };
    const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(number(1))),
                                          std::chrono::month(number(2)),
                                          std::chrono::day(number(3))};
    const double seconds = parts[6].matched ? std::strtod(parts[6].str().c_str(), nullptr) : 0;
    // A leap second is written as 60.
    if (day.ok() && number(4) < 24 && number(5) < 60 && seconds < 61)
      return static_cast<double>(std::chrono::sys_days(day).time_since_epoch().count()) * 86400 +
             number(4) * 3600 + number(5) * 60 + seconds;
  }
  throw InputError(fmt::format(
      "{}: '{}' is no date and no time in UTC. Write it like 2026-11-21 or 2026-11-21T07:04:45Z.",
      where, text));
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace assay
