#pragma once

#include <chrono>
#include <string>

namespace assay {

/// The present time in UTC, as RFC 3339 writes it, with milliseconds.
std::string utc_now();

/// Seconds that have passed since `start`.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace assay
