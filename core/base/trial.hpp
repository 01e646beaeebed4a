#pragma once
// Tries in a child process a call that may end or hang its process.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace assay {

struct Trial {
  std::optional<std::string> answer;  ///< of the body
  std::string reason;   ///< why there is none: "ends the process … by signal 6 (…)"
  bool started = true;  ///< false: no process could be started, so nothing is known
};

/// Runs `body` in a child process and returns its answer. The child's output is discarded, and the
/// child is killed after `limit`. It has one thread, and must not form an OpenMP team if this
/// process has formed one.
Trial try_in_child(const std::function<std::string()>& body, std::chrono::milliseconds limit);

/// True if a limit (ulimit -v, -d) may deny this process memory that the machine has.
bool memory_is_limited();

/// The reason why a library ends or hangs the process that opens it; "" if it does not. Allocators
/// and thread pools of libraries do so where memory is limited (ulimit -v, -d). Without such a
/// limit nothing is tried.
std::string why_not_loadable(const std::string& file);

}  // namespace assay
