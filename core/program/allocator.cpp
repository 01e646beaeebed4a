#include "core/program/allocator.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

struct Allocator {
  const char *name, *stem;  ///< every file of its library begins with the stem
  std::array<const char*, 4> libraries;
  const char* source;  ///< packages that contain it
};
constexpr std::array known_allocators{
    Allocator{"tcmalloc",
              "libtcmalloc",
              {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_minimal.so",
               "libtcmalloc.so"},
              "libtcmalloc-minimal4 of Debian, gperftools of Spack and conda-forge"},
    Allocator{"jemalloc",
              "libjemalloc",
              {"libjemalloc.so.2", "libjemalloc.so.1", "libjemalloc.so", nullptr},
              "libjemalloc2 of Debian, jemalloc of Spack and conda-forge"}};

const Allocator* find_allocator(const std::string& name) {
  const auto position =
      std::find_if(known_allocators.begin(), known_allocators.end(),
                   [&](const Allocator& allocator) { return allocator.name == name; });
  return position == known_allocators.end() ? nullptr : &*position;
}

}  // namespace

std::vector<std::string> list_allocator_names() {
  std::vector<std::string> names{system_allocator};
  for (const Allocator& allocator : known_allocators) names.emplace_back(allocator.name);
  return names;
}

std::vector<std::string> list_allocator_libraries(const std::string& allocator) {
  std::vector<std::string> names;
  if (const Allocator* known = find_allocator(allocator))
    for (const char* name : known->libraries)
      if (name != nullptr) names.emplace_back(name);
  return names;
}

LoadedAllocator find_loaded_allocator() {
  // All libraries call the first malloc in the order of the dynamic linker. A mapped library would
  // prove less, because a plugin may have loaded it for itself.
  Dl_info place{};
  std::string file = "unknown";
  if (void* const symbol = ::dlsym(RTLD_DEFAULT, "malloc");
      symbol != nullptr && ::dladdr(symbol, &place) != 0 && place.dli_fname != nullptr) {
    std::error_code missing;
    const std::filesystem::path real = std::filesystem::canonical(place.dli_fname, missing);
    file = (missing ? std::filesystem::path(place.dli_fname) : real).filename().string();
  }
  for (const Allocator& allocator : known_allocators)
    if (file.starts_with(allocator.stem)) return {allocator.name, file};
  return {system_allocator, file};
}

std::optional<Unsupported> allocator_refusal(const Settings& settings,
                                             const LoadedAllocator& loaded,
                                             const std::string& preload) {
  const auto entry = settings.find("allocator");
  const std::string allocator_name = entry == settings.end() ? system_allocator : entry->second;
  if (allocator_name == loaded.name) return std::nullopt;
  const Allocator* const known = find_allocator(allocator_name);
  if (known == nullptr)
    throw CaseError(fmt::format(
        "this process has the allocator {} ({}), and the case is one of the system's. Unset "
        "LD_PRELOAD, or measure the case with --allocator {}.",
        loaded.name, loaded.file, loaded.name));
  if (preload.find(known->stem) != std::string::npos)
    throw CaseError(fmt::format(
        "LD_PRELOAD asks for {} ({}), but the malloc of this process is that of {}. Install it on "
        "every node ({}).",
        allocator_name, preload, loaded.file, known->source));
  return Unsupported{fmt::format(
      "the allocator {} is not loaded (malloc is that of {}). `assay run` preloads it where the "
      "dynamic linker finds {}: install it ({}), or add its folder to LD_LIBRARY_PATH",
      allocator_name, loaded.file, join(list_allocator_libraries(allocator_name), ", "),
      known->source)};
}

std::vector<Dimension> all_dimensions(const Benchmark& benchmark) {
  std::vector<Dimension> axes = benchmark.dimensions();
  Dimension axis{"allocator",
                 "allocator of host memory, which the process must have been started with: `assay "
                 "run` preloads it",
                 list_allocator_names(),
                 {system_allocator},
                 "",
                 system_allocator};
  axis.group = "Backend";
  axis.traits.over_suite = axis.traits.one_per_process = axis.traits.of_system = true;
  axes.push_back(std::move(axis));
  return axes;
}

}  // namespace assay
