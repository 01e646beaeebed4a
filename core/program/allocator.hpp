#pragma once
// The allocator of host memory, a dimension of every benchmark. Which one a process has is decided
// when it starts, by LD_PRELOAD; so a case asks for one, and its process is held to it.

#include <optional>
#include <string>
#include <vector>

#include "core/base/unsupported.hpp"
#include "core/program/benchmark.hpp"

namespace assay {

/// The allocator that a process has without preloading.
inline constexpr const char* system_allocator = "system";

/// All values of the dimension.
std::vector<std::string> allocator_names();

/// Names of the library of an allocator, as the dynamic linker finds it; the best first.
std::vector<std::string> allocator_libraries(const std::string& allocator);

/// Whose malloc a process calls.
struct LoadedAllocator {
  std::string name;  ///< of allocator_names
  std::string file;  ///< the library that has malloc, without its folder
};
LoadedAllocator loaded_allocator();

/// Why a case cannot be measured in a process that has `loaded` and was started with this
/// LD_PRELOAD: its allocator was not asked for, or is not found. CaseError where it was asked for
/// and is another one all the same, and where a case of the system's finds another one.
std::optional<Unsupported> allocator_refusal(const Settings& settings,
                                             const LoadedAllocator& loaded,
                                             const std::string& preload);

/// Those of the benchmark, and the allocator.
std::vector<Dimension> all_dimensions(const Benchmark& benchmark);

}  // namespace assay
