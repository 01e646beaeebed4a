#include "support/cuda/trace.hpp"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>

#ifdef ASSAY_HAVE_CUPTI
#include <cupti.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>
#endif

namespace assay::cuda {
namespace {

bool is_switched_off() {
  const char* const value = std::getenv("ASSAY_CUDA_TRACE");
  return value != nullptr && std::strcmp(value, "0") == 0;
}

#ifdef ASSAY_HAVE_CUPTI

std::mutex traced_mutex;  // CUPTI delivers records on its own thread
KernelTrace& trace() {
  static KernelTrace all;
  return all;
}

decltype(&cuptiActivityGetNextRecord) next_record = nullptr;

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  constexpr std::size_t bytes = 1 << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, bytes));
  *size = *buffer == nullptr ? 0 : bytes;
  *most_records = 0;  // as many as fit
}

std::string readable(const char* name) {
  int status = 0;
  char* const demangled = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const std::string text = status == 0 && demangled != nullptr ? demangled : name;
  std::free(demangled);
  return text;
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (valid > 0 && next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
        record->kind != CUPTI_ACTIVITY_KIND_KERNEL)
      continue;
    // Later versions of the record only add fields behind the name.
    const auto* const kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
    if (kernel->name == nullptr) continue;
    const std::lock_guard lock(traced_mutex);
    trace().seconds += 1e-9 * static_cast<double>(kernel->end - kernel->start);
    std::vector<std::string>& names = trace().names;
    if (std::string name = readable(kernel->name); std::ranges::find(names, name) == names.end())
      names.push_back(std::move(name));
  }
  std::free(buffer);
}

/// CUPTI, opened when it is first needed: most installations run without it.
struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) set_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  std::string problem;

  Cupti() {
    const std::string file = fmt::format("libcupti.so.{}", CUDART_VERSION / 1000);
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    problem = library == nullptr ? dlerror() : "";
    if (library == nullptr) library = open_beside_the_runtime(file);
    if (library == nullptr) return;
    problem.clear();
    take(library, "cuptiActivityRegisterCallbacks", set_callbacks);
    take(library, "cuptiActivityEnable", enable);
    take(library, "cuptiActivityDisable", disable);
    take(library, "cuptiActivityFlushAll", flush);
    take(library, "cuptiActivityGetNextRecord", next_record);
    if (problem.empty() && set_callbacks(&give_buffer, &take_buffer) != CUPTI_SUCCESS)
      problem = "CUPTI takes no callbacks";
  }

  template <class Function>
  void take(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) problem = fmt::format("CUPTI has no {}", name);
  }

  /// Its folders in a toolkit and in wheels, relative to the folder of libcudart.
  static void* open_beside_the_runtime(const std::string& file) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&cudaMalloc), &info) == 0 || info.dli_fname == nullptr)
      return nullptr;
    const std::string runtime = info.dli_fname, folder = runtime.substr(0, runtime.rfind('/') + 1);
    for (const char* place : {"", "../extras/CUPTI/lib64/", "../../cuda_cupti/lib/"})
      if (void* const library = dlopen((folder + place + file).c_str(), RTLD_NOW | RTLD_LOCAL))
        return library;
    return nullptr;
  }
};

Cupti& cupti() {
  static Cupti library;
  return library;
}

#endif

}  // namespace

#ifdef ASSAY_HAVE_CUPTI

std::string tracer() {
  if (is_switched_off()) return "off (ASSAY_CUDA_TRACE=0)";
  return cupti().problem.empty() ? fmt::format("libcupti.so.{}", CUDART_VERSION / 1000)
                                 : cupti().problem;
}

std::optional<KernelTrace> trace_kernels(const std::function<void()>& body) {
  const bool on = !is_switched_off() && cupti().problem.empty() &&
                  cupti().enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS;
  if (!on) {
    body();
    return std::nullopt;
  }
  const auto stop = [] {
    cupti().flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    cupti().disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    const std::lock_guard lock(traced_mutex);
    return std::exchange(trace(), {});
  };
  try {
    body();
  } catch (...) {
    stop();
    throw;
  }
  KernelTrace traced = stop();
  return traced.names.empty() ? std::nullopt : std::optional(std::move(traced));
}

#else

std::string tracer() { return "built without CUPTI"; }

std::optional<KernelTrace> trace_kernels(const std::function<void()>& body) {
  body();
  return std::nullopt;
}

#endif

}  // namespace assay::cuda
