#pragma once
// Memory of fake GPUs that can be touched only while a kernel runs (FAKE_GPU_GUARDED, cudart.cpp).
// A GPU has few regions, in large pages where the system has them, so that it takes few calls and
// little time to open and to close them around each kernel.

#include <cstddef>

namespace fake {

/// Null where the system has none. It is open if the GPU's memory is.
char* take_guarded(int gpu, std::size_t bytes);
void give_guarded(int gpu, char* at);
/// Opens the memory, or closes it when it has been closed as often as opened.
void open_guarded(int gpu, bool open);

}  // namespace fake
