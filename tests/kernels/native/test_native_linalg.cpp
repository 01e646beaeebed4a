// The native backend's kernels of data analysis: by the oracles, from run to run, and on what their
// blocks do not divide.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "assay/test_paths.hpp"
#include "core/api/communicator.hpp"
#include "core/program/plugins.hpp"
#include "core/program/suite.hpp"
#include "kernels/linalg/benchmark.hpp"
#include "kernels/linalg/problem.hpp"

namespace assay {
namespace test_native_linalg {

Plugins& plugins() {
  static Plugins all({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  return all;
}

constexpr const char* kernels[] = {"syrk", "moments", "kmeans_assign", "hinge", "hinge_hessian"};

std::string shape_of(const std::string& kernel, std::uint64_t n, std::uint64_t d, std::uint64_t k) {
  return fmt::format("{}:n{}d{}{}", kernel, n, d,
                     kernel == "kmeans_assign" ? fmt::format("k{}", k) : "");
}

class NativeLinalg : public testing::Test {
 protected:
  void SetUp() override {
    const Result<Backend*> opened = plugins().open("native");
    if (const auto* const why = std::get_if<Unsupported>(&opened)) {
      // Left out of the build by choice: nothing to test. Built and unusable: a failure.
      if (why->reason.find("no plugin libassay_") != std::string::npos) GTEST_SKIP() << why->reason;
      FAIL() << why->reason;
    }
    backend_ = std::get<Backend*>(opened);
  }

  void verify(const std::string& problem, const std::string& precision, int threads) {
    const auto ranks = make_serial_communicator();
    CaseContext context{plugins(), *ranks};
    const std::vector<Case> cases = expand(linalg_benchmark(),
                                           {{"problem", {problem}},
                                            {"precision", {precision}},
                                            {"backend", {"native"}},
                                            {"threads", {std::to_string(threads)}}},
                                           plugins());
    auto made = linalg_benchmark().prepare(cases.at(0), context);
    if (const auto* const why = std::get_if<Unsupported>(&made)) FAIL() << why->reason;
    Workload& workload = *std::get<std::unique_ptr<Workload>>(made);
    const Verification before = workload.verify_before();
    ASSERT_TRUE(before.passed) << problem << " " << precision << ": " << before.reason;
    workload.reset();
    workload.run(workload.stream());
    const Verification after = workload.verify_after();
    ASSERT_TRUE(after.passed) << problem << " " << precision << ": " << after.reason;
  }

  /// The guard behind each tensor, which no run may change.
  static constexpr std::size_t guard = 256;

  /// All outputs of a run, byte for byte.
  std::vector<std::string> outputs(const std::string& problem, Precision precision, int threads) {
    const LinalgProblem what(parse_linalg(problem), precision);
    Options options;
    options.threads = threads;
    Device& device = *std::get<Device*>(backend_->device(options));
    const auto ranks = make_serial_communicator();
    auto made = backend_->make(what, options, *ranks);
    Operation& operation = *std::get<std::unique_ptr<Operation>>(made);
    std::vector<std::unique_ptr<Tensor>> tensors;
    std::vector<Tensor*> bound;
    std::vector<const char*> ends;
    const std::vector<double> guards(guard / sizeof(double), -0.0);  // which adding 0 changes
    for (TensorSpec spec : operation.arguments()) {
      spec.memory = [&](std::size_t bytes) {
        std::shared_ptr<void> memory(std::aligned_alloc(64, bytes + guard), &std::free);
        ends.push_back(static_cast<const char*>(memory.get()) + bytes);
        std::memcpy(static_cast<char*>(memory.get()) + bytes, guards.data(), guard);
        return memory;
      };
      tensors.push_back(device.allocate(spec));
      bound.push_back(tensors.back().get());
      const Values values(Values::Kind::mantissa, 5, spec.name, spec.type, 0);
      if (spec.role == Role::input)
        device.put(*tensors.back(),
                   [&](std::int64_t first, std::span<double> out) { values.fill(first, out); });
    }
    operation.bind(bound);
    operation.run(device.stream());
    for (const char* end : ends) EXPECT_EQ(std::memcmp(end, guards.data(), guard), 0) << problem;
    std::vector<std::string> all;
    for (Tensor* tensor : bound)
      if (tensor->spec().role == Role::output)
        all.emplace_back(static_cast<const char*>(tensor->data()), tensor->spec().bytes);
    return all;
  }

  Backend* backend_ = nullptr;
};

/// Flags of the mapping of an address in /proc/self/smaps; empty where there are none.
std::string flags_of(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool within = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<std::uintptr_t>(address);
      within = begin <= at && at < end;
    }
    if (within && line.starts_with("VmFlags:")) return line + " ";
  }
  return "";
}

TEST_F(NativeLinalg, TablesAreInLargePages) {
  const LinalgProblem problem(parse_linalg("kmeans_assign:n9000d250k3"), Precision::fp64);
  const auto ranks = make_serial_communicator();
  auto made = backend_->make(problem, {}, *ranks);
  const TensorSpec& x = std::get<std::unique_ptr<Operation>>(made)->arguments().front();
  const std::unique_ptr<Tensor> table = std::get<Device*>(backend_->device({}))->allocate(x);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(table->data()) % (1 << 21), 0u);
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage"))
    GTEST_SKIP() << "this kernel has no large pages of its own accord";
  EXPECT_NE(flags_of(table->data()).find(" hg "), std::string::npos) << flags_of(table->data());
}

TEST_F(NativeLinalg, EqualsTheOraclesOverRandomShapes) {
  std::mt19937 random(12);
  for (int i = 0; i < 20; ++i)
    for (const char* kernel : kernels)
      for (const char* precision : {"fp64", "fp32"}) {
        verify(shape_of(kernel, 1 + random() % 400, 1 + random() % 90, 1 + random() % 70),
               precision, 1 + i % 4);
        if (HasFatalFailure()) return;
      }
}

TEST_F(NativeLinalg, OnTheEdgesOfItsBlocks) {
  // Columns beside vectors and register blocks, rows beside blocks of rows, centroids beside those
  // that are taken at once, more threads than observations.
  for (const int n : {1, 47, 48, 49, 127, 128, 129})
    for (const int d : {1, 7, 8, 9, 16, 17, 24, 25, 49})
      for (const char* kernel : kernels)
        for (const char* precision : {"fp64", "fp32"}) {
          verify(shape_of(kernel, n, d, 1 + (n + d) % 9), precision, 1 + n % 3);
          if (HasFatalFailure()) return;
        }
}

TEST_F(NativeLinalg, OnTablesLargerThanTheCaches) {
  for (const char* kernel : kernels)
    for (const char* precision : {"fp64", "fp32"}) {
      verify(shape_of(kernel, 9000, 250, 3), precision, 2);
      if (HasFatalFailure()) return;
    }
  verify("kmeans_assign:n3000d60k200", "fp64", 2);
}

TEST_F(NativeLinalg, WritesNothingBehindItsTensors) {
  for (const char* kernel : kernels)
    for (const Precision precision : {Precision::fp64, Precision::fp32})
      for (const int d : {1, 7, 8, 9, 15, 16, 17, 37}) {
        outputs(shape_of(kernel, 61, d, 5), precision, 1);
        outputs(shape_of(kernel, 61, d, 3), precision, 2);
      }
}

TEST_F(NativeLinalg, RunsAreEqualBitByBit) {
  for (const char* kernel : kernels)
    for (const Precision precision : {Precision::fp64, Precision::fp32})
      for (const int threads : {1, 2, 3}) {
        const std::string problem = shape_of(kernel, 3001, 37, 5);
        const std::vector<std::string> first = outputs(problem, precision, threads);
        for (int run = 0; run < 5; ++run)
          EXPECT_EQ(outputs(problem, precision, threads), first) << problem << " " << threads;
      }
}

}  // namespace test_native_linalg
}  // namespace assay
