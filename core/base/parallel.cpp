#include "core/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace assay {

void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& work) {
  const std::size_t used = std::min(threads, count);
  if (used <= 1) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::size_t failed = count;
  std::mutex guard;
  const auto take = [&] {
    std::size_t i = next++;
    try {
      for (; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(guard);
      if (i < failed) failure = std::current_exception();
      failed = std::min(failed, i);
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < used; ++i) helpers.emplace_back(take);
    take();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace assay
