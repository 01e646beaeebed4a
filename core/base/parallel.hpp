#pragma once
// Independent work in several threads.

#include <cstddef>
#include <functional>

namespace assay {

/// Calls work(i) for each i from 0 to count - 1, in up to `threads` threads (1: in the caller's).
/// If a call throws, no further calls begin, and the exception is thrown again after all threads
/// have ended: if several calls threw, that of the least i, as in a loop.
void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& work);

}  // namespace assay
