#include "models/network/memory_use.hpp"

#include <algorithm>
#include <string>
#include <variant>

namespace assay {

MemoryUse::MemoryUse(const ExecutorSettings& settings, Plugins& plugins) {
  Options options;
  options.settings["device"] = settings.device;
  for (const std::string& name : settings.backends) {
    const Result<Backend*> opened = plugins.open(name);
    if (settings.device == "cpu" || gpu_ != nullptr || !std::holds_alternative<Backend*>(opened))
      continue;
    const Result<Device*> device = std::get<Backend*>(opened)->device(options);
    if (!std::holds_alternative<Device*>(device)) continue;
    gpu_ = std::get<Device*>(device);
    free_ = static_cast<double>(gpu_->memory_available());
  }
  host_ = PeakMemory();
}

double MemoryUse::bytes() const {
  if (gpu_ == nullptr) return host_.bytes().value_or(0);
  return std::max(0.0, free_ - static_cast<double>(gpu_->memory_available()));
}

double MemoryUse::measure_peak(const std::function<void()>& work, std::size_t least,
                               Communicator& ranks) const {
  PeakMemory();  // forgets the peak until now
  work();
  const double peak = bytes();
  double largest[] = {peak, peak < static_cast<double>(least) ? 1.0 : 0.0};
  ranks.allreduce_max(largest);
  return largest[1] > 0 ? 0 : largest[0];
}

}  // namespace assay
