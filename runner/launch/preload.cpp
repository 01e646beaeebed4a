#include "runner/launch/preload.hpp"

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>

#include "core/program/allocator.hpp"
#include "runner/supervision/child.hpp"

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

std::string chosen_value(const Case& benchmark_case, const std::string& name,
                         const std::string& otherwise) {
  const auto found = benchmark_case.settings.find(name);
  return found == benchmark_case.settings.end() ? otherwise : found->second;
}

}  // namespace

std::vector<PlannedBenchmark> by_process(PlannedBenchmark benchmark, const fs::path& scratch) {
  std::map<std::vector<std::string>, std::vector<Case>> cases;  // by what a process has one of
  for (Case& benchmark_case : benchmark.cases) {
    std::vector<std::string> values;
    for (const std::string& name : benchmark_case.one_per_process)
      values.push_back(chosen_value(benchmark_case, name, ""));
    cases[values].push_back(std::move(benchmark_case));
  }
  benchmark.cases.clear();
  std::vector<PlannedBenchmark> parts;
  for (auto& [values, theirs] : cases) {
    PlannedBenchmark& part = parts.emplace_back(benchmark);
    part.preload = words_for(chosen_value(theirs.front(), "allocator", system_allocator), scratch);
    part.cases = std::move(theirs);
  }
  return parts;
}

}  // namespace assay
