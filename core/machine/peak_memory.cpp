#include "core/machine/peak_memory.hpp"

#include <stdlib.h>  // defines __GLIBC__

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <fstream>
#include <string>

namespace assay {
namespace {

/// A field of /proc/self/status in bytes.
std::optional<double> status_bytes(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field + ":")) return 1024 * std::stod(line.substr(field.size() + 1));
  return std::nullopt;
}

}  // namespace

PeakMemory::PeakMemory() {
#ifdef __GLIBC__
  malloc_trim(0);  // else later work would reuse freed memory, and the process would not grow
#endif
  std::ofstream reset("/proc/self/clear_refs");
  reset << 5 << std::flush;
  if (reset) before_ = status_bytes("VmRSS");
}

std::optional<double> PeakMemory::bytes() const {
  const std::optional<double> peak = status_bytes("VmHWM");
  if (!before_ || !peak) return std::nullopt;
  return std::max(0.0, *peak - *before_);
}

}  // namespace assay
