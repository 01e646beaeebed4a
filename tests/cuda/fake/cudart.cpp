// A fake CUDA runtime: a "GPU" whose memory is the host's and whose work is done when the call
// returns. It exists to test what Assay's plugin does with memory, errors and order; it computes
// nothing that a GPU would, and no number of it means anything.
//
//   FAKE_GPU_BYTES=N            the memory that it has (default 256 MiB)
//   FAKE_GPU_CAPABILITY=MAJOR   its compute capability (default 9)
//   FAKE_GPU_BREAKS=FILE        from the synchronisation on that finds FILE, every call fails, as
//                               after an illegal address
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>

namespace {

using Clock = std::chrono::steady_clock;

std::map<void*, std::size_t>& allocated() {
  static std::map<void*, std::size_t> all;
  return all;
}
std::size_t in_use = 0;
cudaError_t last = cudaSuccess;
bool broken = false;

std::size_t number(const char* name, std::size_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}
std::size_t capacity() { return number("FAKE_GPU_BYTES", std::size_t{256} << 20); }

cudaError_t done(cudaError_t error = cudaSuccess) {
  if (broken) error = cudaErrorIllegalAddress;
  if (error != cudaSuccess) last = error;
  return error;
}
cudaError_t synchronized() {
  const char* const file = std::getenv("FAKE_GPU_BREAKS");
  broken |= file != nullptr && access(file, F_OK) == 0;
  return done();
}

}  // namespace

struct CUstream_st {};
struct CUevent_st {
  Clock::time_point at;
};

// The real library gives its symbols a version, as the linker script of this one does: a plugin
// that is linked with the real one then finds them here.
extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return done();
}
cudaError_t cudaSetDevice(int device) {
  return done(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* of, int) {
  std::memset(of, 0, sizeof *of);
  std::strcpy(of->name, "fake GPU of the tests");
  of->major = static_cast<int>(number("FAKE_GPU_CAPABILITY", 9));
  of->totalGlobalMem = capacity();
  of->l2CacheSize = 1 << 20;
  of->multiProcessorCount = 1;
  return done();
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return done();
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return done();
}
cudaError_t cudaGetLastError() {
  const cudaError_t error = broken ? cudaErrorIllegalAddress : last;
  last = cudaSuccess;
  return error;
}
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "fake: out of memory";
    case cudaErrorIllegalAddress:
      return "fake: an illegal memory access was encountered";
    default:
      return "fake: some error";
  }
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  if (broken) return done();
  if (in_use + bytes > capacity()) return done(cudaErrorMemoryAllocation);
  *data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*data, 0xff, bytes);  // NaN: nothing may rely on what fresh memory holds
  allocated()[*data] = bytes;
  in_use += bytes;
  return done();
}
cudaError_t cudaFree(void* data) {
  const auto found = allocated().find(data);
  if (found == allocated().end())
    return done(data == nullptr ? cudaSuccess : cudaErrorInvalidValue);
  in_use -= found->second;
  allocated().erase(found);
  std::free(data);
  return done();
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = capacity();
  *free = capacity() - in_use;
  return done();
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  if (!broken) std::memcpy(to, from, bytes);
  return done();
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  if (!broken) std::memset(to, value, bytes);
  return done();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  return done();
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return done();
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return synchronized(); }
cudaError_t cudaDeviceSynchronize() { return synchronized(); }

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return done();
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return done();
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->at = Clock::now();
  return done();
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
  return done();
}

// What nvcc puts into a library that has kernels: none of them can be launched here.
void** __cudaRegisterFatBinary(void*) {
  static void* none = nullptr;
  return &none;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*,
                            void*, int*) {}
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*) {
  return done(cudaErrorInvalidDeviceFunction);
}
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return done(cudaErrorInvalidDeviceFunction);
}
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return done(cudaErrorInvalidDeviceFunction);
}
unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, void*) { return 1; }
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*) {
  return done(cudaErrorInvalidConfiguration);
}

}  // extern "C"
