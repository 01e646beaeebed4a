#include "kernels/onednn/backend.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/api/backend_entry.hpp"
#include "core/base/error.hpp"
#include "kernels/onednn/device.hpp"

namespace assay::onednn {

Makers& makers() {
  static Makers table;
  return table;
}

std::string library() {
  const dnnl::version_t* version = dnnl::version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

std::string words(const dnnl::error& error) {
  return fmt::format("\"{}\", status {}", error.message, dnnl_status2str(error.status));
}

Unsupported refusal(const dnnl::error& error, const std::string& start,
                    const std::string& request) {
  if (error.status == dnnl_out_of_memory)
    throw CaseError(fmt::format("not enough memory to make {}{}: {}). Use a smaller problem.",
                                start, library(), words(error)));
  return Unsupported{fmt::format("{}: {} ({})", library(), words(error), request)};
}

void set_threads(int threads) {
  if (threads > 0) omp_set_num_threads(threads);
}

int set_threads(const dnnl::engine& engine, const Options& options) {
  const bool gpu = engine.get_kind() == dnnl::engine::kind::gpu;
  const int threads = gpu ? 0 : std::max(1, options.threads);
  set_threads(threads);
  return threads;
}

namespace {

std::string runtime(unsigned kind) {
  switch (kind) {
    case DNNL_RUNTIME_NONE:
      return "none";
    case DNNL_RUNTIME_SEQ:
      return "sequential";
    case DNNL_RUNTIME_OMP:
      return "OpenMP";
    case DNNL_RUNTIME_TBB:
      return "TBB";
    case DNNL_RUNTIME_THREADPOOL:
      return "thread pool";
    case DNNL_RUNTIME_OCL:
      return "OpenCL";
    default:
      return kind == 512u ? "SYCL" : fmt::format("unknown ({})", kind);
  }
}

std::string instruction_set() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx2_vnni_2:
      return "avx2_vnni_2";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_fp16:
      return "avx512_core_fp16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    default:
      return fmt::format("dnnl_cpu_isa_t {:#x}",
                         static_cast<unsigned>(dnnl::get_effective_cpu_isa()));
  }
}

class OneDnnBackend final : public MakerBackend {
 public:
  OneDnnBackend() : MakerBackend(makers()) {}
  std::string name() const override { return "onednn"; }

  nlohmann::json software() const override {
    const dnnl::version_t* version = dnnl::version();
    return {{"onednn", fmt::format("{}.{}.{}", version->major, version->minor, version->patch)},
            {"commit", version->hash},
            {"cpu_runtime", runtime(version->cpu_runtime)},
            {"gpu_runtime", runtime(version->gpu_runtime)},
            {"instruction_set", instruction_set()}};
  }

  Result<Device*> device(const Options& options) override {
    const std::string wanted = options.get("device", "cpu");
    if (wanted != "cpu" && wanted != "gpu")
      return Unsupported{fmt::format("onednn has no device '{}'. Use cpu or gpu.", wanted)};
    const bool gpu = wanted == "gpu";
    const auto kind = gpu ? dnnl::engine::kind::gpu : dnnl::engine::kind::cpu;
    std::optional<OneDnnDevice>& slot = gpu ? gpu_ : cpu_;
    const std::lock_guard one_at_a_time(making_);  // ranks may be threads
    try {
      if (!slot) {
        if (dnnl::engine::get_count(kind) == 0)
          return Unsupported{fmt::format(
              "onednn: no {} device ({} finds none; its {} runtime is {}). Use another device, or "
              "a "
              "oneDNN built for it.",
              wanted, library(), wanted,
              runtime(gpu ? dnnl::version()->gpu_runtime : dnnl::version()->cpu_runtime))};
        slot.emplace(kind);
      }
    } catch (const dnnl::error& error) {
      return Unsupported{fmt::format("onednn: {} device cannot be used ({}: {})", wanted, library(),
                                     words(error))};
    }
    return &*slot;
  }

 private:
  std::mutex making_;
  std::optional<OneDnnDevice> cpu_,
      gpu_;  // never moves, because tensors and operations point to it
};

Backend* create(std::string& reason) {
  // This plugin uses the interface of version 3; another major version may differ silently.
  if (dnnl::version()->major != DNNL_VERSION_MAJOR) {
    reason = fmt::format("{} is loaded, but the plugin was built for version {}", library(),
                         DNNL_VERSION_MAJOR);
    return nullptr;
  }
  return new OneDnnBackend;
}

}  // namespace
}  // namespace assay::onednn

ASSAY_BACKEND(&assay::onednn::create)
