#pragma once
// Tries in a child process what may end or hang the process that does it.

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

/// What `body` returns in a child process, which is killed after `limit`, and whose output is
/// discarded. The child has one thread: it must not form a team after this process has.
Trial try_in_child(const std::function<std::string()>& body, std::chrono::milliseconds limit);

/// Why a library ends or hangs the process that opens it, or "". Allocators and thread pools of
/// libraries do so under a limit of memory (ulimit -v, -d): without one nothing is tried, at no
/// cost.
std::string why_not_loadable(const std::string& file);

}  // namespace assay
