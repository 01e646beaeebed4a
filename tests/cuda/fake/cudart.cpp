// A fake CUDA runtime: a "GPU" whose memory is the host's and whose work is done when the call
// returns. It exists to test what Assay's plugin does with memory, errors and order; it computes
// nothing that a GPU would, and no number of it means anything.
//
//   FAKE_GPU_COUNT=N            how many there are (default 1)
//   FAKE_GPU_GUARDED=1          no processor may touch its memory but through these calls and
//                               fake_gpu_memory(), and in kernels (opened.hpp): who does dies, as
//                               with a real one
//   FAKE_GPU_BYTES=N            the memory that it has (default 256 MiB)
//   FAKE_GPU_CAPABILITY=MAJOR   its compute capability (default 9)
//   FAKE_GPU_PROCESSORS=N       its multiprocessors (default 3)
//   FAKE_GPU_LAUNCHES=0         no kernel of ours can be launched
//   FAKE_GPU_HOLDS=0            the driver has no call by which a stream waits for a word of memory
//   FAKE_GPU_LOSES=N            of each launch of a kernel of ours the first N threads do not run
//   FAKE_GPU_CROSSES=N          copies between it and the host fail after N bytes in total
//   FAKE_GPU_BREAKS=FILE        from the synchronisation on that finds FILE, every call fails, as
//                               after an illegal address
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <new>
#include <set>
#include <utility>

#include "tests/cuda/fake/arriving.hpp"
#include "tests/cuda/fake/graphs.hpp"
#include "tests/cuda/fake/guarded.hpp"
#include "tests/cuda/fake/items.hpp"
#include "tests/cuda/fake/opened.hpp"
#include "tests/cuda/fake/order.hpp"
#include "tests/cuda/fake/submitted.hpp"
#include "tests/cuda/fake/timeline.hpp"

namespace {

struct Allocated {
  std::size_t bytes = 0;
  bool guarded = false;
  int gpu = 0;
};
std::map<char*, Allocated>& allocated() {
  static auto& all =
      *new std::map<char*, Allocated>;  // memory is freed at the end of a process, too
  return all;
}
const std::pair<char* const, Allocated>* allocation_of(const void* address) {
  auto* const at = static_cast<char*>(const_cast<void*>(address));
  auto above = allocated().upper_bound(at);
  if (above == allocated().begin()) return nullptr;
  const auto& found = *std::prev(above);
  return at < found.first + found.second.bytes ? &found : nullptr;
}
std::size_t in_use = 0, crossed = 0;
int current = 0;
cudaError_t last = cudaSuccess;
bool broken = false;

std::size_t number(const char* name, std::size_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}
int gpus() { return static_cast<int>(number("FAKE_GPU_COUNT", 1)); }
std::size_t capacity() { return number("FAKE_GPU_BYTES", std::size_t{256} << 20); }

cudaError_t done(cudaError_t error = cudaSuccess) {
  if (broken) error = cudaErrorIllegalAddress;
  if (error != cudaSuccess) last = error;
  return error;
}
/// The names of the kernels that a plugin has, by the functions that start them.
std::map<const void*, const char*>& kernels() {
  static std::map<const void*, const char*> all;
  return all;
}
/// The launch that is being made.
struct {
  dim3 grid, block;
  std::size_t bytes = 0;
  void* stream = nullptr;
} configuration;

cudaError_t synchronized() {
  if (fake::refused_in_capture()) return done(cudaErrorStreamCaptureUnsupported);
  const char* const file = std::getenv("FAKE_GPU_BREAKS");
  broken |= file != nullptr && access(file, F_OK) == 0;
  fake::arrive();
  return done();
}

}  // namespace

struct CUstream_st {};
struct CUevent_st {
  bool asked = false;  ///< since it was recorded
};

// The real library gives its symbols a version, as the linker script of this one does: a plugin
// that is linked with the real one then finds them here.
extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = gpus();
  return done();
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= gpus()) return done(cudaErrorInvalidDevice);
  current = device;
  return done();
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return done();
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer && number("FAKE_GPU_PEERS", 1) != 0 ? 1 : 0;
  return done();
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  if (peer == current || peer < 0 || peer >= gpus()) return done(cudaErrorInvalidDevice);
  static std::set<std::pair<int, int>> enabled;
  return done(enabled.emplace(current, peer).second ? cudaSuccess
                                                    : cudaErrorPeerAccessAlreadyEnabled);
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
  return done();
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* of, int device) {
  std::memset(of, 0, sizeof *of);
  std::strcpy(of->name, "fake GPU of the tests");
  if (device > 0) std::snprintf(of->name, sizeof of->name, "fake GPU %d of the tests", device);
  of->major = static_cast<int>(number("FAKE_GPU_CAPABILITY", 9));
  of->totalGlobalMem = capacity();
  of->l2CacheSize = 1 << 20;
  of->pageableMemoryAccessUsesHostPageTables = static_cast<int>(number("FAKE_GPU_HOST_TABLES", 0));
  of->multiProcessorCount = static_cast<int>(number("FAKE_GPU_PROCESSORS", 3));
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

/// The address if it is one of the current GPU, else null. Serves other fakes, too.
void* fake_gpu_memory(const void* address) {
  const auto* const found = allocation_of(address);
  const bool is_here = found != nullptr && found->second.gpu == current;
  return is_here ? const_cast<void*>(address) : nullptr;
}

/// Bytes that were copied between GPUs and the host.
std::size_t fake_gpu_crossed() { return crossed; }

/// Serves kernels, ours and those of fake libraries: guarded memory of this GPU can be touched, or
/// not.
void fake_gpu_open(int open) { fake::open_guarded(current, open != 0); }

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  if (broken) return done();
  if (fake::refused_in_capture()) return done(cudaErrorStreamCaptureUnsupported);
  if (in_use + bytes > capacity()) return done(cudaErrorMemoryAllocation);
  const Allocated made{bytes, number("FAKE_GPU_GUARDED", 0) != 0, current};
  char* const at = made.guarded
                       ? fake::take_guarded(current, bytes)
                       : static_cast<char*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  if (at == nullptr) return done(cudaErrorMemoryAllocation);
  {
    const fake::OpeningScope meanwhile;
    std::memset(at, 0xff, bytes);  // NaN: nothing may rely on what fresh memory holds
  }
  fake::memory_changed();
  allocated()[at] = made;
  *data = at;
  in_use += bytes;
  return done();
}
cudaError_t cudaFree(void* data) {
  if (fake::refused_in_capture()) return done(cudaErrorStreamCaptureUnsupported);
  const auto found = allocated().find(static_cast<char*>(data));
  if (found == allocated().end())
    return done(data == nullptr ? cudaSuccess : cudaErrorInvalidValue);
  const Allocated& of = found->second;
  in_use -= of.bytes;
  if (of.guarded)
    fake::give_guarded(of.gpu, found->first);
  else
    std::free(data);
  allocated().erase(found);
  return done();
}
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) {
  if (fake::refused_in_capture()) return done(cudaErrorStreamCaptureUnsupported);
  *data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (*data != nullptr) fake::page_locked(*data, bytes);
  return done(*data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}
cudaError_t cudaFreeHost(void* data) {
  if (fake::refused_in_capture()) return done(cudaErrorStreamCaptureUnsupported);
  fake::freed(data);
  std::free(data);
  return done();
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = capacity();
  *free = capacity() - in_use;
  return done();
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  if (broken) return done();
  fake::submitted_to(stream);
  const bool on_gpu = fake_gpu_memory(to) != nullptr, from_gpu = fake_gpu_memory(from) != nullptr;
  if (on_gpu != from_gpu && !fake::is_page_locked(on_gpu ? from : to) && fake::refused_in_capture())
    return done(cudaErrorStreamCaptureUnsupported);
  if (on_gpu != from_gpu) crossed += bytes;
  if (crossed > number("FAKE_GPU_CROSSES", SIZE_MAX)) return done(cudaErrorInvalidValue);
  const fake::WorkScope meanwhile(stream);
  fake::submit([=] { fake::copy(to, from, bytes, from_gpu && !on_gpu); });
  return done();
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (fake::refused_in_capture()) return done(cudaErrorStreamCaptureUnsupported);
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  fake::awaited_stream(nullptr);
  fake::finish(nullptr);
  fake::arrive();
  return error;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  const fake::WorkScope meanwhile(stream);
  void* const at = fake_gpu_memory(to);
  if (at == nullptr) return done(cudaErrorInvalidValue);  // not this GPU's
  if (!broken) fake::submit([at, value, bytes] { std::memset(at, value, bytes); });
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
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  fake::awaited_stream(stream);
  fake::finish(stream);
  return synchronized();
}
cudaError_t cudaDeviceSynchronize() {
  fake::finish_all();
  return synchronized();
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return done();
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (fake::refused_in_capture()) return done(cudaErrorStreamCaptureUnsupported);
  // It answers as if the work still ran when the host asks first. It is the last error then, too.
  if (!std::exchange(event->asked, true) || !fake::passed(event)) return done(cudaErrorNotReady);
  fake::awaited_event(event);
  fake::arrive();
  return done();
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return done();
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->asked = false;
  fake::recorded(event, stream);
  if (fake_gpu_captures() == 0) fake::record_time(event, stream);
  return done();
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  fake::ordered_after(stream, event);
  if (fake_gpu_captures() == 0) fake::order_time(stream, event);
  return done();
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  if (!fake::passed(from) || !fake::passed(to)) return done(cudaErrorNotReady);
  *milliseconds = static_cast<float>(1e3 * (fake::time_of(to) - fake::time_of(from)));
  return done();
}

/// The driver's call of this name, as the runtime finds it.
static CUresult wait_value(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags) {
  if (flags != CU_STREAM_WAIT_VALUE_GEQ) return CUDA_ERROR_INVALID_VALUE;
  fake::wait_for_gate(stream, reinterpret_cast<const std::uint32_t*>(at), value);
  return CUDA_SUCCESS;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* known) {
  const bool found =
      std::strcmp(name, "cuStreamWaitValue32") == 0 && number("FAKE_GPU_HOLDS", 1) != 0;
  *function = found ? reinterpret_cast<void*>(&wait_value) : nullptr;
  *known = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return done();
}
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* known) {
  return cudaGetDriverEntryPointByVersion(name, function, 0, flags, known);
}

// Calls that nvcc puts into a library that has kernels. Kernels that the host can run, too, do;
// others cannot be launched here.
void** __cudaRegisterFatBinary(void*) {
  static void* none = nullptr;
  return &none;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, void*,
                            void*, void*, void*, int*) {
  kernels()[function] = name;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  if (!kernels().contains(function)) return done(cudaErrorInvalidDeviceFunction);
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return done();
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             std::size_t, cudaStream_t stream) {
  fake::submitted_to(stream);
  const auto found = kernels().find(function);
  if (found == kernels().end()) return done(cudaErrorInvalidDeviceFunction);
  if (number("FAKE_GPU_LAUNCHES", 1) == 0) return done(cudaErrorInvalidDeviceFunction);
  if (grid.x == 0 || block.x == 0 || block.x > 1024) return done(cudaErrorInvalidConfiguration);
  if (broken) return done();
  const std::function<void()> work = fake::work_of_item(found->second, arguments);
  if (!work) return done(cudaErrorInvalidDeviceFunction);
  const fake::WorkScope meanwhile(stream);
  fake::submit(work);
  return done();
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t bytes, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, bytes, stream);
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t bytes, void* stream) {
  configuration = {grid, block, bytes, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* bytes, void* stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *bytes = configuration.bytes;
  *static_cast<void**>(stream) = configuration.stream;
  return done();
}

}  // extern "C"
