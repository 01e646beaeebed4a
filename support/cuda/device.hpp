#pragma once
// One GPU: its memory, its stream, and its events for a clock. For every plugin that uses CUDA.

#include <cuda_runtime_api.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "core/api/device.hpp"
#include "core/machine/energy.hpp"

namespace assay::cuda {

/// Why this process has no GPU to use, in the runtime's words; "" where there is one. Needs no
/// driver.
std::string why_no_gpu();

/// What identifies the GPU and its software; asked once, when the device is made.
struct Facts {
  std::string name;             ///< "NVIDIA H200"
  std::string pci_address;      ///< "0000:1b:00.0"
  int major = 0, minor = 0;     ///< compute capability
  int driver = 0, runtime = 0;  ///< CUDA versions, as 1000 major + 10 minor
  std::size_t memory = 0, l2 = 0;
  int processors = 0;  ///< streaming multiprocessors
};

/// The CUDA stream of a stream; CaseError where it is not a GPU's.
cudaStream_t cuda_stream(Stream& stream);

class CudaStream final : public Stream {
 public:
  CudaStream();
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  /// An event: the GPU's clock, read when all that was submitted before it is done.
  void mark(int which) override;
  void wait() override;
  double seconds(int from, int to) const override;
  std::unique_ptr<Recording> record(const std::function<void()>& work) override;
  NativeHandle native() override { return {"cudaStream_t", stream_}; }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, 16> events_{};
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

/// Memory of the GPU; CaseError with what is free where there is not enough. `name`: whose.
std::shared_ptr<void> gpu_memory(std::size_t bytes, const std::string& name);

/// The GPU of this process, as its number among those that CUDA_VISIBLE_DEVICES shows: the local
/// rank that the launcher tells, modulo their count, so that it is right where every rank sees all
/// GPUs and where the launcher shows each rank its own. 0 without a launcher.
int gpu_of_process();

/// One of the GPUs that CUDA_VISIBLE_DEVICES shows; it becomes the process's current one.
/// TensorSpec::layout is null or a Layout (core/api/layout.hpp); one in pieces needs memory of its
/// own (TensorSpec::memory), of the GPU.
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
  /// The L2 cache: what a cold rotation must push out.
  std::size_t cache_bytes() const override { return facts_.l2; }
  double reorder_seconds() const override { return reorder_seconds_; }
  /// NVML's counter of this GPU.
  Result<EnergyMeter*> energy_meter() override;
  const Facts& facts() const { return facts_; }

 private:
  /// Between a tensor and `host`, which has its elements as its layout, piece behind piece.
  void transfer(Tensor& tensor, void* host, cudaMemcpyKind kind);

  Facts facts_;
  CudaStream stream_;
  double reorder_seconds_ = 0;
  std::optional<Result<std::unique_ptr<EnergyMeter>>> energy_;
};

}  // namespace assay::cuda
