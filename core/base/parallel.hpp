#pragma once
// Independent work in several threads.

#include <cstddef>
#include <functional>

namespace assay {

/// Calls `work` with 0 to count - 1, in up to `threads` threads (1: in the caller's). Of calls that
/// throw, the exception of one is thrown again once all threads have ended; what has not begun by
/// then is left out.
void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& work);

}  // namespace assay
