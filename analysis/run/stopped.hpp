#pragma once
// Who keeps a job waiting.

#include <string>

namespace assay {

/// The processes below this one that a signal has stopped (SIGSTOP, a debugger), by the rank that
/// their launcher gave them: "rank 1 (process 4711 on HOST) is stopped". "" where there is none.
std::string stopped_processes();

}  // namespace assay
