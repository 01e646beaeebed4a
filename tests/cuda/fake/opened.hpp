#pragma once
// While it lives, guarded memory of the fake GPU (cudart.cpp) can be touched: a kernel runs.

extern "C" __attribute__((weak)) void fake_gpu_open(int open);

namespace fake {

class Opened {
 public:
  Opened() { set(1); }
  ~Opened() { set(0); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  static void set(int open) {
    if (fake_gpu_open != nullptr) fake_gpu_open(open);
  }
};

}  // namespace fake
