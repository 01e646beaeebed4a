#include "analysis/run/preload.hpp"

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>

#include "analysis/run/child.hpp"
#include "core/program/allocator.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// Words before a command that preload a library into it, beside what is preloaded already.
std::vector<std::string> preloading(const std::string& library) {
  const char* const before = std::getenv("LD_PRELOAD");
  const std::string others = before == nullptr ? "" : before;
  return {"env", "LD_PRELOAD=" + library + (others.empty() ? "" : ":" + others)};
}

/// The words of the first library of an allocator that the dynamic linker finds, or none. It is
/// asked itself: it complains on stderr of what it cannot preload, and goes on without.
std::vector<std::string> words_for(const std::string& allocator, const fs::path& scratch) {
  for (const std::string& library : allocator_libraries(allocator)) {
    constexpr std::chrono::seconds patience(30);
    std::vector<std::string> command = preloading(library);
    command.emplace_back("true");
    Ended ended;
    std::string said;
    output_of(command, scratch, patience, ended, said);
    if (!ended.signalled && ended.code == 0 && said.find(library) == std::string::npos)
      return preloading(library);
  }
  return {};
}

}  // namespace

std::vector<PlannedBenchmark> by_allocator(PlannedBenchmark benchmark, const fs::path& scratch) {
  std::map<std::string, std::vector<Case>> cases;
  for (Case& benchmark_case : benchmark.cases) {
    const auto found = benchmark_case.settings.find("allocator");
    cases[found == benchmark_case.settings.end() ? system_allocator : found->second].push_back(
        std::move(benchmark_case));
  }
  benchmark.cases.clear();
  std::vector<PlannedBenchmark> parts;
  for (auto& [allocator, theirs] : cases) {
    PlannedBenchmark& part = parts.emplace_back(benchmark);
    part.cases = std::move(theirs);
    part.preload = words_for(allocator, scratch);
  }
  return parts;
}

}  // namespace assay
