#pragma once
// The threads of OpenMP: how many it provides, and how many a system can have.

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

/// Forms a team of `threads` OpenMP threads, after a trial that the system can start so many.
/// Returns the reason if it cannot, or if the team is smaller, else nothing. Also turns OMP_DYNAMIC
/// off for the calling thread, so that later teams are not smaller.
std::optional<std::string> why_not_threads(int threads);

/// Limits the teams of regions that request no number (filling, checking) to the processors of this
/// process, to thread_limit(), and to those that a limit of memory permits. OMP_NUM_THREADS may say
/// more: libgomp lists a team on the stack, so that a team of 100000 crashes. Call it before the
/// first parallel region.
void limit_teams();

/// The largest number of threads of a process on this system, and what limits it.
struct ThreadLimit {
  std::int64_t most = 0;
  std::string what;
};
/// Check it before a team is formed: an OpenMP runtime ends the process if it cannot create its
/// threads, and crashes if their list does not fit its stack.
ThreadLimit thread_limit();

}  // namespace assay
