#include "analysis/history/times.hpp"

#include <fmt/format.h>

#include <chrono>

#include "analysis/pattern.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"

namespace assay {

double parse_time(const std::string& text, const std::string& where) {
  static const Pattern form(
      R"((\d{4})-(\d\d)-(\d\d)(?:[Tt](\d\d):(\d\d):(\d\d(?:\.\d{1,9})?)[Zz])?)", "a time");
  if (const auto parts = form.groups_of(text)) {
    const auto number = [&](std::size_t i) {
      return static_cast<unsigned>(parse_number(parts->at(i - 1)).value_or(0));
    };
    const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(number(1))),
                                          std::chrono::month(number(2)),
                                          std::chrono::day(number(3))};
    const double seconds = parse_number(parts->at(5)).value_or(0);  // a date has no seconds
    // A leap second is written as 60.
    if (day.ok() && number(4) < 24 && number(5) < 60 && seconds < 61)
      return static_cast<double>(std::chrono::sys_days(day).time_since_epoch().count()) * 86400 +
             number(4) * 3600 + number(5) * 60 + seconds;
  }
  throw InputError(fmt::format(
      "{}: '{}' is not a date or a time in UTC. Write it like 2026-11-21 or 2026-11-21T07:04:45Z.",
      where, text));
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace assay
