// Copies to, from and between GPUs, by the engines that copy (cudaMemcpyAsync).

#include "kernels/copy/problem.hpp"

#include <fmt/format.h>

#include <array>

#include "core/api/host_device.hpp"
#include "core/api/prover.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/copy_device.hpp"
#include "kernels/oracle/refused_algorithm.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {
namespace {

/// The place of a tensor: its TensorSpec::opaque.
struct CopyPlace {
  bool host = false, pinned = false;
  int gpu = 0;  ///< by its number in CUDA_VISIBLE_DEVICES
};

/// A stream without hold(): a copy of pageable memory ends when the host has copied it to
/// page-locked memory. If the GPU were held back, the host would wait for a copy that waits for the
/// host.
class CopyStream final : public Stream {
 public:
  explicit CopyStream(CudaStream& stream) : stream_(stream) {}
  void mark(int which) override { stream_.mark(which); }
  void wait() override { stream_.wait(); }
  double seconds(int from, int to) const override { return stream_.seconds(from, to); }
  NativeHandle native() override { return stream_.native(); }

 private:
  CudaStream& stream_;
};

/// Memory of a GPU other than the current one.
std::shared_ptr<void> allocate_memory(int gpu, std::size_t bytes, const std::string& name) {
  int current = 0;
  check(cudaGetDevice(&current), "asking for the current GPU");
  check(cudaSetDevice(gpu), fmt::format("choosing GPU {}", gpu));
  std::shared_ptr<void> memory;
  try {
    memory = gpu_memory(bytes, name);
  } catch (...) {
    cudaSetDevice(current);
    throw;
  }
  check(cudaSetDevice(current), "choosing the GPU");
  return memory;
}

/// True if a tensor is in the memory of the GPU whose kernels run, so that CopyDevice chose no
/// other memory.
bool is_own(Tensor& tensor) {
  return dynamic_cast<CudaTensor*>(&tensor) != nullptr && !tensor.spec().memory;
}

/// The prover for tensors of that GPU; the host compares all others.
class CopyProver final : public Prover {
 public:
  explicit CopyProver(Prover& of_gpu) : of_gpu_(of_gpu) {}
  std::optional<ElementComparison> compare(Tensor& output, ElementRange range,
                                           const ElementFormula& formula,
                                           const Inputs& inputs) override {
    if (!is_own(output)) return std::nullopt;
    return of_gpu_.compare(output, range, formula, inputs);
  }
  std::optional<std::vector<Expected>> expect(const ElementFormula& formula, const Inputs& inputs,
                                              std::span<const std::int64_t> indices) override {
    return of_gpu_.expect(formula, inputs, indices);
  }
  std::optional<std::vector<double>> sum(const ElementFormula& formula, const Inputs& inputs,
                                         const Channels& over) override {
    return of_gpu_.sum(formula, inputs, over);
  }

 private:
  Prover& of_gpu_;
};

class CopyDevice final : public Device {
 public:
  explicit CopyDevice(KernelDevice& gpu)
      : gpu_(gpu), stream_(gpu.stream()), prover_(*gpu.prover()) {}
  std::string name() const override { return gpu_.name(); }
  Stream& stream() override { return stream_; }

  std::unique_ptr<Tensor> allocate(const TensorSpec& spec) override {
    TensorSpec plain = spec;
    plain.opaque = nullptr;
    const auto& place = *static_cast<const CopyPlace*>(spec.opaque.get());
    if (!place.host) {
      int own = 0;
      check(cudaGetDevice(&own), "asking for the current GPU");
      if (place.gpu != own)
        plain.memory = [gpu = place.gpu, name = spec.name](std::size_t bytes) {
          return allocate_memory(gpu, bytes, name);
        };
      return gpu_.allocate(plain);
    }
    if (place.pinned) plain.memory = [this](std::size_t bytes) { return gpu_.host_memory(bytes); };
    return host_.allocate(plain);
  }
  // The kernels of the GPU access no memory of another GPU: the host generates those data, and the
  // GPU copies them.
  void put(Tensor& tensor, const Source& source) override {
    is_of_gpu(tensor) ? gpu_.CudaDevice::put(tensor, source) : host_.put(tensor, source);
  }
  void get(Tensor& tensor, const Sink& sink) override {
    is_of_gpu(tensor) ? gpu_.CudaDevice::get(tensor, sink) : host_.get(tensor, sink);
  }
  void fill(Tensor& tensor, const Values& values) override {
    is_own(tensor) ? gpu_.fill(tensor, values) : Device::fill(tensor, values);
  }
  void fill(Tensor& tensor, double value) override {
    is_own(tensor) ? gpu_.fill(tensor, value) : Device::fill(tensor, value);
  }
  ScanResult scan(Tensor& tensor, std::span<const std::int64_t> indices,
                  const ChecksumWeights* weights) override {
    return is_own(tensor) ? gpu_.scan(tensor, indices, weights)
                          : Device::scan(tensor, indices, weights);
  }
  Prover* prover() override { return &prover_; }
  std::size_t memory_available() const override {
    return std::min(gpu_.memory_available(), host_.memory_available());
  }
  std::size_t cache_bytes() const override {
    return std::max(gpu_.cache_bytes(), host_.cache_bytes());
  }
  Result<EnergyMeter*> energy_meter() override { return gpu_.energy_meter(); }
  std::optional<DeviceState> state() override { return gpu_.state(); }
  std::optional<DeviceHealth> health() override { return gpu_.health(); }

 private:
  static bool is_of_gpu(Tensor& tensor) { return dynamic_cast<CudaTensor*>(&tensor) != nullptr; }
  KernelDevice& gpu_;
  HostDevice host_;
  CopyStream stream_;
  CopyProver prover_;
};

/// Bytes per second of a PCIe lane in one direction, by generation (PCI-SIG's rates and codes).
double lane_rate(int generation) {
  constexpr std::array<double, 7> rates{0,
                                        2.5e9 / 8 * 8 / 10,
                                        5e9 / 8 * 8 / 10,
                                        8e9 / 8 * 128 / 130,
                                        16e9 / 8 * 128 / 130,
                                        32e9 / 8 * 128 / 130,
                                        64e9 / 8 * 242 / 256};
  return generation > 0 && generation < static_cast<int>(rates.size())
             ? rates[static_cast<std::size_t>(generation)]
             : 0;
}

/// True if PCIe joins the memory of the GPU and that of the host, as far as the GPU reports. A GPU
/// that uses the host's page tables (Grace) has a faster link.
bool is_behind_pcie(int gpu) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, gpu), "asking for the properties of the GPU");
  return properties.pageableMemoryAccessUsesHostPageTables == 0;
}

/// Enables two GPUs to access each other's memory, if they can; otherwise the host stages their
/// copies.
bool are_peers(int a, int b) {
  int current = 0;
  check(cudaGetDevice(&current), "asking for the current GPU");
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    int can = 0;
    check(cudaDeviceCanAccessPeer(&can, from, to), "asking whether GPUs reach each other");
    if (can == 0) return false;
  }
  bool joined = true;
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    check(cudaSetDevice(from), fmt::format("choosing GPU {}", from));
    const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
    joined &= error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
    if (error != cudaSuccess) cudaGetLastError();  // it is answered
  }
  check(cudaSetDevice(current), "choosing the GPU");
  return joined;
}

class Copying final : public BoundOperation {
 public:
  Copying(const CopyProblem& problem, const std::vector<CopyPlace>& places, Device& device)
      : BoundOperation(problem.tensors()), device_(device) {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      arguments_[i].opaque = std::make_shared<const CopyPlace>(places[i]);
    execution_.algorithm = "memcpy";
    execution_.implementation = "cudaMemcpyAsync";
    const CopyPlace &from = places[0], &to = places[1];
    if (from.host || to.host) {
      int own = 0;  // the GPU whose link device_ describes
      check(cudaGetDevice(&own), "asking for the current GPU");
      const int gpu = from.host ? to.gpu : from.gpu;
      bounded_ = gpu == own && is_behind_pcie(gpu);
    } else if (from.gpu != to.gpu) {
      execution_.implementation += are_peers(from.gpu, to.gpu) ? ", peer" : ", staged by the host";
    }
    execution_.storage = execution_.compute = execution_.accumulate =
        std::string(name(arguments_[0].type));
    execution_.layout = "any";
    execution_.evidence = "numerical";
    if (problem.paths().size() < 2) return;
    check(cudaStreamCreateWithFlags(&back_, cudaStreamNonBlocking), "making a stream");
    for (cudaEvent_t* event : {&began_, &ended_})
      check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "making an event");
  }
  ~Copying() override {
    if (back_ == nullptr) return;
    cudaEventDestroy(began_);
    cudaEventDestroy(ended_);
    cudaStreamDestroy(back_);
  }
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;

  /// Copies there and back use two streams, which begin and end together.
  void run(Stream& stream) override {
    const cudaStream_t here = cuda_stream(stream);
    if (back_ != nullptr) {
      check(cudaEventRecord(began_, here), "recording an event");
      check(cudaStreamWaitEvent(back_, began_, 0), "waiting for an event");
    }
    copy(0, here);
    if (back_ == nullptr) return;
    copy(1, back_);
    check(cudaEventRecord(ended_, back_), "recording an event");
    check(cudaStreamWaitEvent(here, ended_, 0), "waiting for an event");
  }

  /// The limit is the rate of the link in one direction: its highest generation (the link slows
  /// down when idle) and its present number of lanes.
  Execution execution() const override {
    Execution ran = execution_;
    const std::optional<DeviceHealth> health = bounded_ ? device_.health() : std::nullopt;
    if (!health) return ran;
    const auto value = [&](const char* name) {
      const auto entry = health->values.find(name);
      return entry == health->values.end() ? 0 : entry->second;
    };
    const double width = value("pcie_width"),
                 lane = lane_rate(static_cast<int>(value("pcie_generation_max")));
    if (width * lane > 0) ran.numbers["link_bw"] = width * lane;
    return ran;
  }

 private:
  void copy(std::size_t path, cudaStream_t stream) {
    check(cudaMemcpyAsync(data<void>(2 * path + 1), data<void>(2 * path), arguments_[0].bytes,
                          cudaMemcpyDefault, stream),
          "copying");
  }

  Device& device_;
  bool bounded_ = false;  ///< by the PCIe link of the device
  cudaStream_t back_ = nullptr;
  cudaEvent_t began_ = nullptr, ended_ = nullptr;
};

Result<CopyPlace> parse_place(const std::string& name) {
  if (name == "pinned" || name == "pageable") return CopyPlace{true, name == "pinned"};
  if (!name.starts_with("gpu"))
    return Unsupported{fmt::format(
        "cuda copies to and from GPUs (gpu0, pinned and pageable, not {}). Use --backend native.",
        name)};
  int count = 0;
  check(cudaGetDeviceCount(&count), "counting the GPUs");
  const auto number = parse_number<int>(name.substr(3)).value_or(count);
  if (number >= count)
    return Unsupported{fmt::format("this process sees {} GPUs, of which none is {}.", count, name)};
  return CopyPlace{false, false, number};
}

Result<std::unique_ptr<Operation>> make_copy(Device& device, const Problem& what,
                                             const Options& options, Communicator&) {
  const CopyProblem& problem = problem_cast<CopyProblem>(what);
  if (auto why = refuse_algorithm(options, "cuda", {}, "copies")) return std::move(*why);
  std::vector<CopyPlace> places;
  for (const auto& [from, to] : problem.paths())
    for (const std::string& name : {from, to}) {
      Result<CopyPlace> place = parse_place(name);
      if (auto* refusal = std::get_if<Unsupported>(&place)) return std::move(*refusal);
      places.push_back(std::get<CopyPlace>(place));
      if (problem.shape().both && name == "pageable")
        return Unsupported{
            "a copy of pageable memory holds the host back, so one back is not at once. Use "
            "pinned, "
            "or --direction one."};
    }
  if (places.empty() || (places[0].host && places[1].host))
    return Unsupported{"cuda copies to and from GPUs. Use --backend native for the host's memory."};
  return std::make_unique<Copying>(problem, places, device);
}

const Maker add_copy{makers(), problem_kind<CopyProblem>(), &make_copy, {}};

}  // namespace

std::unique_ptr<Device> copy_device(KernelDevice& gpu) { return std::make_unique<CopyDevice>(gpu); }

}  // namespace assay::cuda
