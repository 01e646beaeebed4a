#pragma once
// One GPU: its memory, its stream, and events as its clock. It serves all plugins that use CUDA.

#include <cuda_runtime_api.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "core/api/device.hpp"
#include "core/machine/energy.hpp"
#include "support/cuda/hold.hpp"

namespace assay::cuda {

/// The CUDA runtime's reason why this process can use no GPU; "" if it can use one. Works without a
/// driver.
std::string why_no_gpu();

/// Properties of the GPU and its software, read once when the device is made.
struct Facts {
  std::string name;             ///< "NVIDIA H200"
  std::string pci_address;      ///< "0000:1b:00.0"
  int major = 0, minor = 0;     ///< compute capability
  int driver = 0, runtime = 0;  ///< CUDA versions, as 1000 major + 10 minor
  std::size_t memory = 0, l2 = 0;
  int processors = 0;  ///< streaming multiprocessors
};

/// The CUDA stream of a stream. CaseError if it is not a stream of a GPU.
cudaStream_t cuda_stream(Stream& stream);

class CudaStream final : public Stream {
 public:
  CudaStream();
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  /// Records an event: the GPU reads its clock when all work submitted before is done.
  void mark(int which) override;
  void wait() override;
  double seconds(int from, int to) const override;
  bool hold() override;
  std::string release() override { return hold_.end(); }
  std::unique_ptr<Recording> record(const std::function<void()>& work) override;
  NativeHandle native() override { return {"cudaStream_t", stream_}; }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, 16> events_{};
  StreamHold hold_;
};

class CudaTensor final : public Tensor {
 public:
  explicit CudaTensor(const TensorSpec& spec);
  CudaTensor(const CudaTensor&) = delete;
  CudaTensor& operator=(const CudaTensor&) = delete;
  const TensorSpec& spec() const override { return spec_; }
  void* data() override { return memory_.get(); }

 private:
  TensorSpec spec_;
  std::shared_ptr<void> memory_;
};

/// Allocates memory of the GPU. CaseError, with the free memory, if too little is left. `name`: the
/// tensor, for the message.
std::shared_ptr<void> gpu_memory(std::size_t bytes, const std::string& name);

/// Copies host memory to the GPU, and returns when the data have arrived, so any stream may use
/// them next.
void copy_to_gpu(void* to, const void* from, std::size_t bytes, const std::string& what);

/// The GPU of this process, as its number among those of CUDA_VISIBLE_DEVICES: the launcher's local
/// rank, modulo their number. This is correct both if all ranks see all GPUs, and if the launcher
/// shows each rank only its own. 0 without a launcher.
int gpu_of_process();

/// One of the GPUs of CUDA_VISIBLE_DEVICES, which becomes the current device of the process.
/// Tensors are in row-major order or in a Layout; a Layout in pieces needs GPU memory from
/// TensorSpec::memory.
class CudaDevice : public Device {
 public:
  explicit CudaDevice(int gpu = gpu_of_process());
  std::string name() const override { return "gpu"; }
  CudaStream& stream() override { return stream_; }
  std::unique_ptr<Tensor> allocate(const TensorSpec& spec) override;
  void put(Tensor& tensor, const Source& source) override;
  void get(Tensor& tensor, const Sink& sink) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  std::shared_ptr<void> host_memory(std::size_t bytes) override;
  std::size_t memory_available() const override;
  /// Size of the L2 cache.
  std::size_t cache_bytes() const override { return facts_.l2; }
  double reorder_seconds() const override { return reorder_seconds_; }
  /// NVML's counter of this GPU.
  Result<EnergyMeter*> energy_meter() override;
  /// Read by NVML (state.cpp).
  std::optional<DeviceState> state() override;
  std::optional<DeviceHealth> health() override;
  const Facts& facts() const { return facts_; }

 private:
  /// Copies between a tensor and `host`, which has the tensor's layout, with its pieces one after
  /// the other.
  void transfer(Tensor& tensor, void* host, cudaMemcpyKind kind);

  Facts facts_;
  CudaStream stream_;
  double reorder_seconds_ = 0;
  std::optional<Result<std::unique_ptr<EnergyMeter>>> energy_;
};

}  // namespace assay::cuda
