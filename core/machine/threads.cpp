#include "core/machine/threads.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/base/trial.hpp"
#include "core/machine/environment.hpp"
#include "core/machine/environment_parts.hpp"

namespace assay {

namespace {

/// The size of the stacks of OpenMP's threads: OMP_STACKSIZE is a number of KiB, or of the unit
/// that follows it. 0: the system's.
std::size_t stack_bytes() {
  const char* text = std::getenv("OMP_STACKSIZE");
  if (text == nullptr) text = std::getenv("GOMP_STACKSIZE");
  if (text == nullptr) return 0;
  char* unit = nullptr;
  const std::size_t size = std::strtoull(text, &unit, 10);
  while (*unit == ' ') ++unit;
  constexpr std::string_view units = "bkmg";
  const std::size_t power = units.find(static_cast<char>(std::tolower(*unit)));
  return size << 10 * (power < units.size() ? power : 1);
}

struct ThreadStart {
  int threads = 0;
  std::string limit;  ///< why there are not more; "" if all started
};

/// Starts up to `count` threads, all at once as in a team, and ends them. An OpenMP runtime ends
/// the process if it cannot start a thread; pthread_create() returns an error, whatever the limit
/// is.
ThreadStart start_threads(int count) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes());  // of no effect if it is too small
  std::size_t stack = 0;
  pthread_attr_getstacksize(&attributes, &stack);
  const auto wait = [](void* gate) -> void* {
    const std::lock_guard opened(*static_cast<std::mutex*>(gate));
    return nullptr;
  };
  ThreadStart all;
  std::vector<pthread_t> started;
  started.reserve(static_cast<std::size_t>(std::max(count, 0)));  // nothing may fail later
  std::mutex gate;
  gate.lock();
  for (pthread_t next{}; all.threads < count; ++all.threads) {
    if (pthread_create(&next, &attributes, wait, &gate) != 0) break;
    started.push_back(next);
  }
  if (all.threads < count) {  // EAGAIN, whether memory or processes are at their limit
    void* const more = ::mmap(nullptr, stack, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (more != MAP_FAILED) ::munmap(more, stack);
    all.limit = more != MAP_FAILED
                    ? "its user or its cgroup has no more processes (ulimit -u, pids.max)"
                    : fmt::format("their stacks of {} MiB do not fit (ulimit -v, -d)", stack >> 20);
  }
  gate.unlock();
  for (const pthread_t thread : started) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return all;
}

}  // namespace

ThreadLimit thread_limit() {
  // No measurement needs more threads than these, however large the machine.
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
  auto most = std::min<std::int64_t>(processors(), thread_limit().most);
  if (memory_is_limited()) most = 1 + start_threads(static_cast<int>(most) - 1).threads;
  if (omp_get_max_threads() > most) omp_set_num_threads(static_cast<int>(most));
}

std::optional<std::string> why_not_threads(int threads) {
  // Threads of earlier teams wait for the next team. End them first, or they would count in
  // addition to those of the trial.
  if (omp_pause_resource_all(omp_pause_soft) == 0)
    if (const ThreadStart started = start_threads(threads - 1); !started.limit.empty())
      return fmt::format(
          "{} threads were asked for, the system starts {} ({}). Raise the limit or ask for fewer.",
          threads, 1 + started.threads, started.limit);
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
