#pragma once
// While it lives, a call of a fake library submits work to the fake GPU, whose clock (timeline.hpp)
// then counts it.

extern "C" {
__attribute__((weak)) void fake_gpu_begin_work(const void* stream);
__attribute__((weak)) void fake_gpu_end_work();
}

namespace fake {

class WorkScope {
 public:
  /// `stream`: null for that of the call before.
  explicit WorkScope(const void* stream = nullptr) {
    if (fake_gpu_begin_work != nullptr) fake_gpu_begin_work(stream);
  }
  ~WorkScope() {
    if (fake_gpu_end_work != nullptr) fake_gpu_end_work();
  }
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;
};

}  // namespace fake
