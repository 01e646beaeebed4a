#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "comm/nccl/communicator.hpp"
#include "core/api/backend_entry.hpp"
#include "core/base/error.hpp"
#include "core/machine/launched.hpp"
#include "support/cuda/device.hpp"
#include "support/cuda/error.hpp"

namespace assay::nccl {
namespace {

class NcclBackend final : public Backend {
 public:
  std::string name() const override { return "nccl"; }
  nlohmann::json software() const override { return {{"nccl", version()}}; }

  Result<Device*> device(const Options& options) override {
    const std::string wanted = options.get("device", "gpu");
    if (wanted != "gpu")
      return Unsupported{"nccl has no device '" + wanted + "' (it transfers GPU memory). Use gpu."};
    if (!device_) device_ = std::make_unique<cuda::CudaDevice>(chosen_);
    return device_.get();
  }

  Result<std::unique_ptr<Communicator>> connect(const Options& options,
                                                Communicator& known) override {
    if (const std::string reason = choose_gpu(known); !reason.empty()) return Unsupported{reason};
    const Result<Device*> place = device(options);
    if (const auto* refusal = std::get_if<Unsupported>(&place)) return *refusal;
    return std::make_unique<NcclCommunicator>(read_ranks(known, options));
  }

 private:
  /// Chooses the process's GPU like kernels (cuda::gpu_of_process) or, if the launcher gives no
  /// local ranks, by the rank's position on its host. Returns why a rank has no GPU of its own,
  /// which NCCL requires; or empty.
  std::string choose_gpu(Communicator& known) {
    const std::vector<std::string> hosts = known.allgather(known.host());
    const auto before = std::count(hosts.begin(), hosts.begin() + known.rank(), known.host());
    int gpus = 0;
    const cudaError_t error = cudaGetDeviceCount(&gpus);
    std::string mine, failure;
    if (error != cudaSuccess || gpus == 0) {
      failure = error != cudaSuccess ? cuda::words(error) : "no GPU";
    } else {
      const int chosen =
          read_launch_info().local_rank ? cuda::gpu_of_process() : static_cast<int>(before % gpus);
      char bus[32] = "";
      if (device_ == nullptr) chosen_ = chosen;  // else keep the GPU: tensors lie there
      cuda::check(cudaDeviceGetPCIBusId(bus, sizeof bus, chosen_), "asking for a GPU's address");
      mine = known.host() + " " + bus;
    }
    const std::vector<std::string> failures = known.allgather(failure);
    for (std::size_t rank = 0; rank < failures.size(); ++rank)
      if (!failures[rank].empty())
        return fmt::format("nccl: rank {} on {} has no GPU ({})", rank, hosts[rank],
                           failures[rank]);
    const std::vector<std::string> places = known.allgather(mine);
    for (std::size_t rank = 0; rank < places.size(); ++rank)
      if (const auto other = std::find(places.begin(), places.end(), places[rank]) - places.begin();
          other != static_cast<std::ptrdiff_t>(rank))
        return fmt::format(
            "nccl: ranks {} and {} would share the GPU {} (NCCL allows one rank per GPU). Start at "
            "most as many ranks on a host as it has GPUs.",
            other, rank, places[rank]);
    return "";
  }

  std::unique_ptr<cuda::CudaDevice> device_;
  int chosen_ = 0;  ///< of the GPUs that this rank sees
};

Backend* create(std::string& reason) {
  reason = cuda::why_no_gpu();
  if (!reason.empty()) return nullptr;
  int version = 0;
  check(ncclGetVersion(&version), "ncclGetVersion");
  if (version < oldest) {
    reason = fmt::format("NCCL {} is loaded, but the plugin's calls need {} or newer",
                         format_version(version), format_version(oldest));
    return nullptr;
  }
  return new NcclBackend;
}

}  // namespace
}  // namespace assay::nccl

ASSAY_BACKEND(&assay::nccl::create)
