#pragma once
// The dimension `allocator` of every benchmark: the library whose malloc a process calls.
// LD_PRELOAD decides it when the process starts, so a case cannot choose it; the program checks
// that the process has the allocator that the case names.

#include <optional>
#include <string>
#include <vector>

#include "core/base/unsupported.hpp"
#include "core/program/benchmark.hpp"

namespace assay {

/// The allocator that a process has without preloading.
inline constexpr const char* system_allocator = "system";

/// All values of the dimension.
std::vector<std::string> list_allocator_names();

/// File names under which the dynamic linker may find an allocator's library; the best first.
std::vector<std::string> list_allocator_libraries(const std::string& allocator);

/// The allocator of this process.
struct LoadedAllocator {
  std::string name;  ///< one of list_allocator_names()
  std::string file;  ///< the library that defines malloc, without its folder
};
LoadedAllocator find_loaded_allocator();

/// The reason why a case with these settings cannot be measured in a process that has the allocator
/// `loaded` and was started with the LD_PRELOAD `preload`: the case's allocator was not preloaded,
/// or its library was not found. Nothing if it can be measured. CaseError if the process has
/// another allocator although the case's was preloaded, or if it has another than the system's
/// although the case names that.
std::optional<Unsupported> allocator_refusal(const Settings& settings,
                                             const LoadedAllocator& loaded,
                                             const std::string& preload);

/// The dimensions of the benchmark, and `allocator`.
std::vector<Dimension> all_dimensions(const Benchmark& benchmark);

}  // namespace assay
