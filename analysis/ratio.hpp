#pragma once
// The one direction of every ratio that a command shows: a speedup, above 1 the first-named is
// faster. Result files and documents keep ratios of times where they had them; what people read
// goes through here.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/statistics.hpp"

namespace assay {

/// Of the first over the second, from the times of both.
double speedup(double first_s, double second_s);
/// Of A over B, from "time of A / time of B".
double speedup_of(double time_ratio);
Interval speedup_of(const Interval& time_ratio);
/// The same of a number or null, and of a pair or null.
nlohmann::json speedup_json(const nlohmann::json& time_ratio);

/// "A over B": the head of a column of speedups.
std::string over(const std::string& first, const std::string& second);
/// "speedup: A over B, above 1 A is faster": the line that says it where there is room.
std::string speedup_header(const std::string& first, const std::string& second);

}  // namespace assay
