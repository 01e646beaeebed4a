#include "core/machine/threads.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/machine/environment.hpp"
#include "core/machine/environment_parts.hpp"

namespace assay {

ThreadLimit thread_limit() {
  // More than these have never been of use in a measurement, however large the machine.
  const std::int64_t online = std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN));
  ThreadLimit limit{std::max<std::int64_t>(1024, 16 * online),
                    fmt::format("16 for each of {} processors, at least 1024", online)};
  const auto at_most = [&](std::optional<double> most, const std::string& what) {
    if (most && *most >= 1 && *most < static_cast<double>(limit.most))
      limit = {static_cast<std::int64_t>(*most), what};
  };
  rlimit allowed{};
  // libgomp lists the threads of a new team on the stack, 128 bytes each.
  if (::getrlimit(RLIMIT_STACK, &allowed) == 0 && allowed.rlim_cur != RLIM_INFINITY)
    at_most(static_cast<double>(allowed.rlim_cur) / 256, "the stack's size (ulimit -s)");
  if (::geteuid() != 0 && ::getrlimit(RLIMIT_NPROC, &allowed) == 0 &&
      allowed.rlim_cur != RLIM_INFINITY)
    at_most(static_cast<double>(allowed.rlim_cur), "the processes of this user (ulimit -u)");
  at_most(environment::number_in("/proc/sys/kernel/threads-max"), "/proc/sys/kernel/threads-max");
  at_most(environment::number_in("/proc/sys/kernel/pid_max"), "/proc/sys/kernel/pid_max");
  // A stack and its guard are two mappings.
  if (const auto maps = environment::number_in("/proc/sys/vm/max_map_count"))
    at_most(*maps / 2, "/proc/sys/vm/max_map_count, two for each thread");
  for (const std::string& file : environment::cgroup_files("pids.max", "pids", "pids.max"))
    at_most(environment::number_in(file), file);
  return limit;
}

void limit_teams() {
  const auto most = std::min<std::int64_t>(processors(), thread_limit().most);
  if (omp_get_max_threads() > most) omp_set_num_threads(static_cast<int>(most));
}

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
