#pragma once
// Cases of the analytics programs on ranks that are threads of this process.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assay/test_paths.hpp"
#include "core/program/suite.hpp"
#include "models/analytics/analytics_benchmark.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay::fixture {

using Flags = std::map<std::string, std::string>;

inline Plugins& plugins() {
  static Plugins all({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  return all;
}

/// The backends that compute every operation here: blas only where there is a library for it.
inline std::vector<std::string> host_backends() {
  std::vector<std::string> all{"native", "reference"};
  const Result<Backend*> blas = plugins().open("blas");
  if (const auto* const opened = std::get_if<Backend*>(&blas))
    if (!std::holds_alternative<Unsupported>((*opened)->device({}))) all.emplace_back("blas");
  return all;
}

/// The case of these flags, as `ranks` ranks complete it.
inline Case one_case(const Benchmark& benchmark, const Flags& flags, int ranks) {
  std::map<std::string, std::vector<std::string>> given;
  for (const auto& [name, value] : flags) given[name] = {value};
  given.try_emplace("threads", std::vector<std::string>{"1"});
  return expand(benchmark, given, plugins(), false, {ranks, 1}).at(0);
}

/// The results of a finished case.
struct CaseRun {
  Verification before, after;
  std::map<std::string, Metric> metrics;
  Execution execution;
  std::string unsupported;
};

/// Prepares, verifies, runs twice and verifies again, on each of `ranks` ranks.
inline std::vector<CaseRun> run_on_ranks(const Benchmark& benchmark, const Flags& flags,
                                         int ranks) {
  const Case selected = one_case(benchmark, flags, ranks);
  for (const char* name : {"native", "blas", "reference"}) (void)plugins().open(name);
  std::vector<CaseRun> all(static_cast<std::size_t>(ranks));
  testing_fakes::on_threads(ranks, [&](Communicator& communicator) {
    CaseRun& mine = all[static_cast<std::size_t>(communicator.rank())];
    CaseContext context{plugins(), communicator};
    Result<std::unique_ptr<Workload>> made = benchmark.prepare(selected, context);
    if (const auto* refusal = std::get_if<Unsupported>(&made)) {
      mine.unsupported = refusal->reason;
      return;
    }
    Workload& workload = *std::get<std::unique_ptr<Workload>>(made);
    mine.before = workload.verify_before();
    for (int i = 0; i < 2; ++i) {
      workload.reset();
      workload.run(workload.stream());
    }
    mine.after = workload.verify_after();
    mine.metrics = workload.metrics();
    mine.execution = workload.execution();
  });
  return all;
}

/// The same, expected to pass everywhere, with the same metrics on every rank; those of rank 0.
inline std::map<std::string, Metric> metrics_on_ranks(const Benchmark& benchmark,
                                                      const Flags& flags, int ranks) {
  const std::vector<CaseRun> all = run_on_ranks(benchmark, flags, ranks);
  for (const CaseRun& ran : all) {
    EXPECT_EQ(ran.unsupported, "");
    EXPECT_TRUE(ran.before.passed) << ran.before.reason;
    EXPECT_TRUE(ran.after.passed) << ran.after.reason;
    for (const auto& [name, metric] : ran.metrics)
      EXPECT_EQ(metric.value, all.front().metrics.at(name).value) << name;
  }
  return all.front().metrics;
}

}  // namespace assay::fixture
