#pragma once
// The device on which the backend `cheating` cheats: the processor, or the fake GPU
// (tests/cuda/cheats.py).

#include <cstdlib>
#include <string>
#include <vector>

namespace assay {

inline bool cheats_on_gpu() { return std::getenv("ASSAY_CHEAT_INNER") != nullptr; }
inline std::string cheats_device() { return cheats_on_gpu() ? "gpu" : "cpu"; }
/// It, and those that are honest.
inline std::vector<std::string> cheating_and_others() {
  if (cheats_on_gpu()) return {"cheating", "cuda"};
  return {"cheating", "native", "blas", "reference"};
}
/// Number of trials of a cheat: a fake GPU is slow.
inline int cheat_trials(int on_processor) {
  return cheats_on_gpu() ? on_processor / 5 : on_processor;
}

}  // namespace assay
