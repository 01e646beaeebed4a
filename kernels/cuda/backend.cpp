#include "kernels/cuda/backend.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "core/api/backend_entry.hpp"
#include "kernels/cuda/copy_device.hpp"
#include "support/cuda/error.hpp"
#include "support/cuda/trace.hpp"

namespace assay::cuda {

Makers& makers() {
  static Makers table;
  return table;
}

namespace {

std::string format_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

class CudaBackend final : public MakerBackend {
 public:
  CudaBackend() : MakerBackend(makers()) {}
  std::string name() const override { return "cuda"; }

  nlohmann::json software() const override {
    int runtime = 0;
    cudaRuntimeGetVersion(&runtime);
    nlohmann::json all{{"cuda", format_version(runtime)},
                       {"built_for", format_version(CUDART_VERSION)},
                       {"cudnn", cudnn_library().substr(6)},
                       {"trace", tracer()}};
    // Properties that only CUDA knows, and that identify machines of one kind.
    try {
      const Facts& gpu = place().facts();
      all.update({{"driver", format_version(gpu.driver)},
                  {"gpu", gpu.name},
                  {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
                  {"multiprocessors", gpu.processors},
                  {"memory_bytes", gpu.memory},
                  {"l2_bytes", gpu.l2}});
    } catch (const CaseError& error) {
      all["gpu"] = nullptr;
      all["reason"] = error.what();
    }
    return all;
  }

  Result<Device*> device(const Options& options) override {
    const std::string wanted = options.get("device", "gpu");
    if (wanted != "gpu")
      return Unsupported{
          fmt::format("cuda has no device '{}' (it computes on GPUs). Use --device gpu.", wanted)};
    check_usable();
    if (options.get("from", "").empty()) return &place();
    if (!copies_) copies_ = copy_device(place());
    return copies_.get();
  }

 private:
  /// The device is created at the first use, because a context takes time and memory, and `assay
  /// list` needs none.
  KernelDevice& place() const {
    if (!device_) device_.emplace();
    return *device_;
  }

  mutable std::optional<KernelDevice>
      device_;                      // never moves, because tensors and operations point to it
  std::unique_ptr<Device> copies_;  // of assay-copy
};

/// Why the loaded libraries, or this plugin, do not fit together.
std::string why_not_libraries() {
  const std::string library = cudnn_library();
  if (library.substr(0, library.find('.')) != fmt::format("cuDNN {}", CUDNN_MAJOR))
    return fmt::format("{} is loaded, but the plugin was built for cuDNN {}", library, CUDNN_MAJOR);
  int runtime = 0;
  cudaRuntimeGetVersion(&runtime);
  const auto of_cudnn = static_cast<int>(cudnnGetCudartVersion());
  if (of_cudnn != 0 && of_cudnn / 1000 != runtime / 1000)
    return fmt::format("{} was built for CUDA {}, but CUDA {} is loaded", library,
                       format_version(of_cudnn), format_version(runtime));
  return "";
}

Backend* create(std::string& reason) {
  reason = why_not_libraries();
  if (reason.empty()) reason = why_no_gpu();
  return reason.empty() ? new CudaBackend : nullptr;
}

}  // namespace
}  // namespace assay::cuda

ASSAY_BACKEND(&assay::cuda::create)
