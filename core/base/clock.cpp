#include "core/base/clock.hpp"

#include <fmt/chrono.h>

#include <chrono>

namespace assay {

std::string format_utc_now() {
  const auto time = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto milliseconds = time.time_since_epoch().count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)), milliseconds);
}

}  // namespace assay
