#pragma once
// While it lives, guarded memory of the fake GPU (cudart.cpp) can be touched: a kernel runs.

extern "C" __attribute__((weak)) void fake_gpu_open(int open);

namespace fake {

class OpeningScope {
 public:
  OpeningScope() { set(1); }
  ~OpeningScope() { set(0); }
  OpeningScope(const OpeningScope&) = delete;
  OpeningScope& operator=(const OpeningScope&) = delete;

 private:
  static void set(int open) {
    if (fake_gpu_open != nullptr) fake_gpu_open(open);
  }
};

}  // namespace fake
