#include "support/cuda/device.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>

#include "core/api/host_device.hpp"
#include "core/api/layout.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/machine/launched.hpp"
#include "support/cuda/energy.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {
namespace {

Facts ask(int gpu) {
  check(cudaSetDevice(gpu), "choosing the GPU");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, gpu), "asking the GPU what it is");
  Facts facts;
  facts.name = properties.name;
  char address[32] = "";
  check(cudaDeviceGetPCIBusId(address, sizeof address, gpu), "asking for the GPU's address");
  facts.pci_address = address;
  facts.major = properties.major;
  facts.minor = properties.minor;
  facts.memory = properties.totalGlobalMem;
  facts.l2 = static_cast<std::size_t>(properties.l2CacheSize);
  facts.processors = properties.multiProcessorCount;
  check(cudaDriverGetVersion(&facts.driver), "asking the driver's version");
  check(cudaRuntimeGetVersion(&facts.runtime), "asking the runtime's version");
  return facts;
}

/// Host memory that is written before it is read, so that nothing is spent on zeroing it.
std::unique_ptr<std::byte[]> allocate_unwritten(std::size_t bytes) {
  return std::unique_ptr<std::byte[]>(new std::byte[bytes]);
}

std::size_t packed_bytes(const TensorSpec& spec) {
  return static_cast<std::size_t>(spec.elements()) * size_of(spec.type);
}

const Layout* find_layout(const TensorSpec& spec) { return spec.layout.get(); }

class CudaGraph final : public Recording {
 public:
  CudaGraph(cudaGraph_t graph, cudaStream_t stream) : stream_(stream) {
    check(cudaGraphInstantiate(&ready_, graph, 0), "making a CUDA graph ready");
  }
  ~CudaGraph() override { cudaGraphExecDestroy(ready_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  void submit() override { check(cudaGraphLaunch(ready_, stream_), "submitting a CUDA graph"); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t ready_ = nullptr;
};

}  // namespace

std::string why_no_gpu() {
  int count = 0;  // the call does not change it without a driver
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (error != cudaSuccess) return fmt::format("no GPU can be used (CUDA: {})", words(error));
  return count > 0 ? "" : "no GPU can be used (CUDA counts none)";
}

int gpu_of_process() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "counting the GPUs");
  return count > 0 ? read_launch_info().local_rank.value_or(0) % count : 0;
}

cudaStream_t cuda_stream(Stream& stream) {
  return static_cast<cudaStream_t>(native_handle(stream, "cudaStream_t"));
}

CudaStream::CudaStream() {
  // The stream does not synchronise with the default stream: it neither waits for nor times the
  // work that a library submits there.
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  for (cudaEvent_t& event : events_) check(cudaEventCreate(&event), "making an event");
}

CudaStream::~CudaStream() {
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
  cudaStreamDestroy(stream_);
}

void CudaStream::mark(int which) {
  check(cudaEventRecord(events_[static_cast<std::size_t>(which & 15)], stream_),
        "recording an event");
}

void CudaStream::wait() {
  hold_.let_go("a run waits for the GPU");
  check(cudaStreamSynchronize(stream_), "work submitted to the GPU");
}

bool CudaStream::hold() {
  hold_.begin(stream_);
  return true;
}

double CudaStream::seconds(int from, int to) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, events_[static_cast<std::size_t>(from & 15)],
                             events_[static_cast<std::size_t>(to & 15)]),
        "reading two events");
  return static_cast<double>(milliseconds) * 1e-3;
}

std::unique_ptr<Recording> CudaStream::record(const std::function<void()>& work) {
  // The capture includes only calls of this thread: a sampler in another thread may read the energy
  // of the GPU meanwhile.
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "recording work");
  const auto end = [this](cudaError_t& error) {
    cudaGraph_t graph = nullptr;
    error = cudaStreamEndCapture(stream_, &graph);
    return std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, decltype(&cudaGraphDestroy)>(
        graph, &cudaGraphDestroy);
  };
  cudaError_t error = cudaSuccess;
  try {
    work();
  } catch (...) {
    end(error);
    cudaGetLastError();  // clears the error of the failed call
    throw;
  }
  const auto graph = end(error);
  check(error, "recording work");
  return std::make_unique<CudaGraph>(graph.get(), stream_);
}

CudaTensor::CudaTensor(const TensorSpec& spec) : spec_(spec) {
  if (spec.role != Role::workspace) {
    const Layout* const layout = find_layout(spec);
    const std::size_t needed =
        layout == nullptr ? packed_bytes(spec)
                          : static_cast<std::size_t>(layout->elements) * size_of(spec.type);
    spec_.bytes = std::max(spec.bytes, needed);
  }
  memory_ = spec.memory ? spec.memory(spec_.bytes) : gpu_memory(spec_.bytes, spec.name);
}

std::shared_ptr<void> gpu_memory(std::size_t bytes, const std::string& name) {
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, std::max<std::size_t>(bytes, 1));
  if (error == cudaErrorMemoryAllocation) {
    std::size_t free = 0, total = 0;
    cudaGetLastError();
    cudaMemGetInfo(&free, &total);
    throw CaseError(fmt::format(
        "cannot allocate {} bytes for '{}' on the GPU ({} bytes of {} are free; CUDA: {}). Use a "
        "smaller batch, or end what else uses this GPU.",
        bytes, name, free, total, words(error)));
  }
  check(error, fmt::format("allocating {} bytes for '{}' on the GPU", bytes, name));
  return {data, &cudaFree};
}

void copy_to_gpu(void* to, const void* from, std::size_t bytes, const std::string& what) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), what);
  // A copy of pageable memory may return before the data have arrived, and Assay's streams do not
  // wait for it.
  check(cudaDeviceSynchronize(), what);
}

CudaDevice::CudaDevice(int gpu) : facts_(ask(gpu)) {}

std::unique_ptr<Tensor> CudaDevice::allocate(const TensorSpec& spec) {
  return std::make_unique<CudaTensor>(spec);
}

void CudaDevice::put(Tensor& tensor, const Source& source) {
  const TensorSpec& spec = tensor.spec();
  std::unique_ptr<std::byte[]> data = allocate_unwritten(packed_bytes(spec));
  fill_packed(spec.type, spec.elements(), data.get(), source);
  if (const Layout* const layout = find_layout(spec)) {
    std::unique_ptr<std::byte[]> placed = allocate_unwritten(spec.bytes);
    const auto start = std::chrono::steady_clock::now();
    place(spec, *layout, data.get(), placed.get());
    reorder_seconds_ += seconds_since(start);
    data = std::move(placed);
  }
  transfer(tensor, data.get(), cudaMemcpyHostToDevice);
}

void CudaDevice::get(Tensor& tensor, const Sink& sink) {
  const TensorSpec& spec = tensor.spec();
  std::unique_ptr<std::byte[]> data = allocate_unwritten(spec.bytes);
  transfer(tensor, data.get(), cudaMemcpyDeviceToHost);
  if (const Layout* const layout = find_layout(spec)) {
    std::unique_ptr<std::byte[]> packed = allocate_unwritten(packed_bytes(spec));
    const auto start = std::chrono::steady_clock::now();
    pack(spec, *layout, data.get(), packed.get());
    reorder_seconds_ += seconds_since(start);
    data = std::move(packed);
  }
  show_packed(spec.type, spec.elements(), data.get(), sink);
}

void CudaDevice::transfer(Tensor& tensor, void* host, cudaMemcpyKind kind) {
  const TensorSpec& spec = tensor.spec();
  const Layout* const layout = find_layout(spec);
  std::vector<std::int64_t> whole{0};
  const bool in_pieces = layout != nullptr && !layout->pieces.empty();
  const std::vector<std::int64_t>& pieces = in_pieces ? layout->pieces : whole;
  const std::size_t size = size_of(spec.type),
                    bytes = in_pieces
                                ? static_cast<std::size_t>(layout->elements) * size / pieces.size()
                                : spec.bytes;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    char* const at_gpu =
        static_cast<char*>(tensor.data()) + static_cast<std::size_t>(pieces[i]) * size;
    char* const at_host = static_cast<char*>(host) + i * bytes;
    const bool to_gpu = kind == cudaMemcpyHostToDevice;
    check(cudaMemcpyAsync(to_gpu ? at_gpu : at_host, to_gpu ? at_host : at_gpu, bytes, kind,
                          stream_.get()),
          fmt::format("copying '{}' {} the GPU", spec.name, to_gpu ? "to" : "from"));
  }
  stream_.wait();
}

void CudaDevice::copy(void* to, const void* from, std::size_t bytes) {
  // Addresses are unified: the runtime knows which device owns an address.
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()),
        "copying between GPU and host");
}

std::shared_ptr<void> CudaDevice::host_memory(std::size_t bytes) {
  void* data = nullptr;
  check(cudaHostAlloc(&data, std::max<std::size_t>(bytes, 1), cudaHostAllocDefault),
        fmt::format("page-locking {} bytes of host memory", bytes));
  return {data, &cudaFreeHost};
}

std::size_t CudaDevice::memory_available() const {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  return free;
}

Result<EnergyMeter*> CudaDevice::energy_meter() {
  if (!energy_) energy_ = open_gpu_energy(facts_.pci_address);
  if (const auto* const refusal = std::get_if<Unsupported>(&*energy_)) return *refusal;
  return std::get<std::unique_ptr<EnergyMeter>>(*energy_).get();
}

}  // namespace assay::cuda
