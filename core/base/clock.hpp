#pragma once
// The present time, and elapsed time.

#include <chrono>
#include <string>

namespace assay {

/// The present time in UTC in the format of RFC 3339, with milliseconds.
std::string format_utc_now();

/// Seconds that have passed since `start`.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace assay
