#pragma once
// Reads times in the notation of result files.

#include <string>

namespace assay {

/// Seconds since 1970 of a date (2026-11-21) or an RFC 3339 time in UTC (2026-11-21T07:04:45.123Z).
/// InputError, starting with `where`, for anything else.
double parse_time(const std::string& text, const std::string& where);

/// Seconds since 1970, by the clock of this machine.
double seconds_now();

}  // namespace assay
