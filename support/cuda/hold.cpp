#include "support/cuda/hold.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <system_error>

#include "support/cuda/error.hpp"

namespace assay::cuda {
namespace {

// When the thread sees a hold for the second time, the hold has lasted for one to two periods.
constexpr auto period = std::chrono::milliseconds(100);

using Wait = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);

/// The driver's function, of the version whose flags are used here; null if it has none.
Wait wait_of_driver() {
  constexpr const char* name = "cuStreamWaitValue32";
  void* function = nullptr;
  cudaDriverEntryPointQueryResult known{};
#if CUDART_VERSION >= 12050
  constexpr unsigned version = 12000;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &known);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &known);
#endif
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess && known == cudaDriverEntryPointSuccess
             ? reinterpret_cast<Wait>(function)
             : nullptr;
}

Wait driver_wait() {
  static const Wait function = wait_of_driver();
  return function;
}

}  // namespace

StreamHold::~StreamHold() {
  if (watch_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) open();
      over_ = true;
    }
    ended_.notify_one();
    watch_.join();
  }
  cudaFreeHost(gate_);
}

void StreamHold::prepare() {
  prepared_ = true;
  if (driver_wait() == nullptr) {
    unusable_ = "the driver cannot hold the GPU back (it has no cuStreamWaitValue32)";
    return;
  }
  // Errors are stored, not thrown: if one rank threw here, the other ranks would wait for it.
  void* memory = nullptr;
  if (const cudaError_t error = cudaHostAlloc(&memory, sizeof *gate_, cudaHostAllocMapped);
      error != cudaSuccess) {
    cudaGetLastError();
    unusable_ =
        fmt::format("the GPU cannot be held back (no page-locked memory, CUDA: {})", words(error));
    return;
  }
  gate_ = static_cast<std::uint32_t*>(memory);
  *gate_ = 0;
  try {
    watch_ = std::thread([this] { watch(); });
  } catch (const std::system_error& error) {
    unusable_ = fmt::format("the GPU cannot be held back (no thread: {})", error.what());
  }
}

void StreamHold::begin(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  if (!prepared_) prepare();
  why_ = unusable_;
  if (!unusable_.empty()) return;
  // The stream waits until the gate reaches this hold's number (a comparison that survives
  // overflow). The gate is never reset, so the release of one hold cannot be mistaken for that of
  // another.
  const CUresult error = driver_wait()(stream, reinterpret_cast<CUdeviceptr>(gate_), ++number_,
                                       CU_STREAM_WAIT_VALUE_GEQ);
  closed_ = error == CUDA_SUCCESS;
  if (closed_) return;
  std::atomic_ref(*gate_).store(number_);
  why_ = unusable_ = fmt::format("the driver cannot hold the GPU back (CUDA driver: error {})",
                                 static_cast<int>(error));
}

void StreamHold::open() {
  std::atomic_ref(*gate_).store(number_);
  closed_ = false;
}

void StreamHold::let_go(const char* why) {
  const std::lock_guard lock(mutex_);
  if (!closed_) return;
  open();
  why_ = why;
}

std::string StreamHold::end() {
  const std::lock_guard lock(mutex_);
  if (closed_) open();
  return why_;
}

void StreamHold::watch() {
  std::unique_lock lock(mutex_);
  std::uint32_t seen = 0;  // the hold seen in the last period; 0: none
  while (!over_) {
    if (closed_ && seen == number_) {
      open();
      why_ =
          "a library waits for the GPU within a run, or a run has more launches than the GPU's "
          "queue takes";
    }
    seen = closed_ ? number_ : 0;
    ended_.wait_for(lock, period);
  }
}

}  // namespace assay::cuda
