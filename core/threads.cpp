#include "core/threads.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <cstdlib>

namespace assay {

std::optional<std::string> why_not_threads(int threads) {
  omp_set_dynamic(0);
  int team = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
  team = omp_get_num_threads();
  if (team == threads) return std::nullopt;
  const int limit = omp_get_thread_limit();
  const char* name = limit < threads ? "OMP_THREAD_LIMIT" : "OMP_MAX_ACTIVE_LEVELS";
  const char* value = std::getenv(name);
  return fmt::format("{} threads were asked for, OpenMP gives {} ({}). {} or ask for fewer.",
                     threads, team,
                     value != nullptr ? fmt::format("{}={}", name, value)
                                      : fmt::format("its thread limit is {}", limit),
                     value != nullptr ? "Unset it" : "Raise the limit");
}

}  // namespace assay
