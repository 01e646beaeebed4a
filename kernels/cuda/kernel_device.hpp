#pragma once
// The GPU with our kernels: it generates inputs and reads outputs itself, so that no tensor crosses
// to the host as a whole. If its kernels cannot run, or do not support the layout of a tensor, the
// host does the work (Device's defaults). In every process, the kernels are trusted with a type of
// elements only after their results for it agree with the host's.

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "kernels/cuda/cudnn.hpp"
#include "kernels/cuda/for_each.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {

class KernelProver;

/// The GPU has no code of ours that it can run.
struct LaunchFailure {};

/// Too little memory is left for the data that are computed from inputs and outputs.
struct MemoryShortage : CaseError {
  using CaseError::CaseError;
};

class KernelDevice final : public CudnnDevice {
 public:
  KernelDevice();
  ~KernelDevice() override;
  void put(Tensor& tensor, const Source& source) override;
  void get(Tensor& tensor, const Sink& sink) override;
  void fill(Tensor& tensor, const Values& values) override;
  void fill(Tensor& tensor, double value) override;
  ScanResult scan(Tensor& tensor, std::span<const std::int64_t> indices,
                  const ChecksumWeights* weights) override;
  Prover* prover() override;

 private:
  friend class KernelProver;  // starts its kernels, in the same scratch memory
  /// True if kernels support the tensor's layout; `weights` are the weights of its dimensions, or
  /// null.
  bool knows(const TensorSpec& spec, const ChecksumWeights* weights = nullptr) const;
  /// Generates and reads a small tensor of the type, at the first call. CaseError if the host finds
  /// other elements in it, or other results.
  void prove(DataType type);
  void make(Tensor& tensor, const Values& values);
  void set_all(Tensor& tensor, double value);
  ScanResult read(Tensor& tensor, std::span<const std::int64_t> indices,
                  const ChecksumWeights* weights);
  void write_all(Tensor& tensor, const Source& source);
  void read_all(Tensor& tensor, const Sink& sink);
  /// Moves all elements between the tensor and the host, part by part in row-major order:
  /// show(first element, how many, where) is called after a part has come from the GPU, or before
  /// it goes there.
  void move(Tensor& tensor, bool to_gpu,
            const std::function<void(std::int64_t, std::int64_t, std::byte*)>& show);
  void clear_padding(Tensor& tensor);
  template <class Item>
  void start(const Item& item, std::int64_t count, const TensorSpec& spec);
  /// Memory that the next call overwrites.
  std::byte* scratch(std::size_t bytes);
  void upload(std::byte* to, const std::vector<std::byte>& from);
  /// Calls work() for elements of the type, and returns true. Returns false if kernels cannot be
  /// launched.
  template <class Work>
  bool by_kernels(DataType type, const Work& work);

  int gpu_ = 0;
  bool launches_ = true;  ///< none has been refused
  std::set<DataType> proved_;
  bool proving_ = false;
  std::shared_ptr<void> scratch_;
  std::size_t scratch_bytes_ = 0;
  std::shared_ptr<void> staging_;  ///< of the host, page-locked
  std::unique_ptr<KernelProver> prover_;
};

template <class Work>
bool KernelDevice::by_kernels(DataType type, const Work& work) {
  if (!launches_) return false;
  try {
    prove(type);
    work();
  } catch (const LaunchFailure&) {
    stream().wait();  // for what was copied before
    launches_ = false;
  }
  return launches_;
}

template <class Item>
void KernelDevice::start(const Item& item, std::int64_t count, const TensorSpec& spec) {
  const cudaError_t error = for_each(item, count, stream().get());
  // The plugin has no code for this GPU, or the driver is too old to compile it.
  switch (error) {
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidPtx:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorJitCompilationDisabled:
      throw LaunchFailure{};
    default:
      break;
  }
  check(error, fmt::format("making or reading '{}' on the GPU", spec.name));
}

}  // namespace assay::cuda
