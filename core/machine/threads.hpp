#pragma once
// Whether OpenMP gives as many threads as a case asks for.

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

/// Forms one team of `threads`, with OpenMP's right to give fewer taken back (OMP_DYNAMIC) for all
/// that the calling thread runs later. Why the team was smaller, or nothing where it was whole.
std::optional<std::string> why_not_threads(int threads);

/// The most threads that a process can have here, and what limits them.
struct ThreadLimit {
  std::int64_t most = 0;
  std::string what;
};
/// To be asked before a team is formed: an OpenMP runtime that cannot make its threads ends the
/// process, and one that finds no room on the stack for their list dies of it.
ThreadLimit thread_limit();

}  // namespace assay
