#pragma once
// One case of an operation's benchmark, through the plugins as the programs load them.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "assay/test_paths.hpp"
#include "core/program/benchmark.hpp"
#include "core/program/plugins.hpp"
#include "core/program/suite.hpp"

namespace assay::kernel_test {

inline Plugins& plugins() {
  static Plugins built({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  return built;
}
inline Communicator& alone() {
  static const auto ranks = make_serial_communicator();
  return *ranks;
}

/// `axes`: one value of each dimension that is not to have its default.
inline Result<std::unique_ptr<Workload>> prepare(const OperationBenchmark& benchmark,
                                                 const std::map<std::string, std::string>& axes) {
  CaseContext context{plugins(), alone()};
  std::map<std::string, std::vector<std::string>> wanted;
  for (const auto& [name, value] : axes) wanted[name] = {value};
  return benchmark.prepare(expand(benchmark, wanted, plugins()).at(0), context);
}

/// Verified, run twice, and verified again.
inline void verify(Workload& workload, const std::string& what) {
  const Verification before = workload.verify_before();
  ASSERT_TRUE(before.passed) << what << ": " << before.reason;
  for (int i = 0; i < 2; ++i) {
    workload.reset();
    workload.run(workload.stream());
  }
  const Verification after = workload.verify_after();
  EXPECT_TRUE(after.passed) << what << ": " << after.reason;
  EXPECT_FALSE(workload.execution().implementation.empty()) << what;
}

/// A problem that no program measures alone, or why the backend has none.
inline Result<std::unique_ptr<Workload>> prepare(const Problem& problem,
                                                 std::unique_ptr<Oracle> oracle,
                                                 const std::string& backend, int threads) {
  Result<Backend*> opened = plugins().open(backend);
  if (const auto* const why = std::get_if<Unsupported>(&opened)) return *why;
  Options options;
  options.threads = threads;
  Device& device = *std::get<Device*>(std::get<Backend*>(opened)->device(options));
  auto made = std::get<Backend*>(opened)->make(problem, options, alone());
  if (const auto* const why = std::get_if<Unsupported>(&made)) return *why;
  return make_operation_workload(problem, std::move(std::get<std::unique_ptr<Operation>>(made)),
                                 device, std::move(oracle), 0, OperationSetup{});
}

/// The same, verified, run twice, and verified again. False where the backend has none.
inline testing::AssertionResult verify(const Problem& problem, std::unique_ptr<Oracle> oracle,
                                       const std::string& backend, int threads) {
  const auto made = prepare(problem, std::move(oracle), backend, threads);
  if (const auto* const why = std::get_if<Unsupported>(&made))
    return testing::AssertionFailure() << why->reason;
  verify(*std::get<std::unique_ptr<Workload>>(made), backend + " " + problem.canonical());
  return testing::AssertionSuccess();
}

/// True if the plugin of a backend was built here. A test may be skipped only where it was not: a
/// refusal of a backend that is there is a failure.
inline bool is_built(const std::string& backend) {
  return exists(std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay" /
                ("libassay_" + backend + ".so"));
}

/// Why the case is unsupported; "" where it is not.
inline std::string refusal(const OperationBenchmark& benchmark,
                           const std::map<std::string, std::string>& axes) {
  const Result<std::unique_ptr<Workload>> made = prepare(benchmark, axes);
  const auto* const why = std::get_if<Unsupported>(&made);
  return why == nullptr ? "" : why->reason;
}

/// Verifies these problems with every combination of the values of other dimensions, on 1 to 3
/// threads. The number of supported cases of each precision.
inline std::map<std::string, int> verify_all(const OperationBenchmark& benchmark,
                                             const std::vector<std::string>& problems,
                                             std::map<std::string, std::vector<std::string>> axes) {
  axes["precision"] = {"fp64", "fp32", "bf16", "fp16"};
  std::map<std::string, int> supported;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    axes["problem"] = {problems[i]};
    axes["threads"] = {std::to_string(1 + i % 3)};
    for (const Case& selected : expand(benchmark, axes, plugins())) {
      CaseContext context{plugins(), alone()};
      Result<std::unique_ptr<Workload>> made = benchmark.prepare(selected, context);
      auto* const workload = std::get_if<std::unique_ptr<Workload>>(&made);
      supported[selected.settings.at("precision")] += workload != nullptr;
      if (workload != nullptr) verify(**workload, selected.id);
      if (testing::Test::HasFailure()) return supported;
    }
  }
  return supported;
}

/// Verified, run twice, and verified again. False where it is unsupported.
inline bool verify(const OperationBenchmark& benchmark,
                   const std::map<std::string, std::string>& axes) {
  Result<std::unique_ptr<Workload>> made = prepare(benchmark, axes);
  if (std::holds_alternative<Unsupported>(made)) return false;
  std::string what;
  for (const auto& [name, value] : axes) what += name + "=" + value + " ";
  verify(*std::get<std::unique_ptr<Workload>>(made), what);
  return true;
}

}  // namespace assay::kernel_test
