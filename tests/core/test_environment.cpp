#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/environment.hpp"
#include "core/environment_parts.hpp"
#include "result_fixture.hpp"

namespace assay {
namespace {

using fixture::in_child;
using nlohmann::json;

TEST(Environment, TwoCapturesHaveEqualHashes) {
  const json first = capture_environment(), second = capture_environment();
  EXPECT_EQ(first["hardware"], second["hardware"]);
  EXPECT_EQ(first["software"], second["software"]);
  EXPECT_EQ(first["hashes"], second["hashes"]);
  for (const char* part : {"hardware", "software"})
    EXPECT_EQ(first["hashes"][part].get<std::string>().size(), 36u);
  EXPECT_NE(first["hashes"]["hardware"], first["hashes"]["software"]);
}

TEST(Environment, TheVolatileStateDoesNotCount) {
  json environment = capture_environment();
  const json hashes = environment["hashes"];
  environment["volatile"] = {{"load", 17}};
  environment["host"] = "another";
  add_software(environment, "none", nullptr);
  EXPECT_EQ(environment["hashes"]["hardware"], hashes["hardware"]);
  EXPECT_NE(environment["hashes"]["software"], hashes["software"]);
  environment["software"]["libraries"].erase("none");
  add_software(environment, "libc", environment["software"]["libraries"]["libc"]);
  EXPECT_EQ(environment["hashes"], hashes);
}

TEST(Environment, HashesFollowWhatTheyStandFor) {
  json environment = capture_environment();
  const json hashes = environment["hashes"];
  add_software(environment, "onednn", {{"version", "3.2.0"}});
  EXPECT_EQ(environment["software"]["libraries"]["onednn"]["version"], "3.2.0");
  const json with_library = environment["hashes"];
  EXPECT_EQ(with_library["hardware"], hashes["hardware"]);
  EXPECT_NE(with_library["software"], hashes["software"]);
  environment["hardware"]["cores"] = 4096;
  add_software(environment, "onednn", {{"version", "3.2.0"}});
  EXPECT_NE(environment["hashes"]["hardware"], hashes["hardware"]);
  EXPECT_EQ(environment["hashes"]["software"], with_library["software"]);
}

TEST(Environment, SwitchesThatChangeArithmeticAreSoftware) {
  const json before = capture_environment();
  ::setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
  ::setenv("ONEDNN_DEFAULT_FPMATH_MODE", "BF16", 1);
  const json after = capture_environment();
  ::unsetenv("NVIDIA_TF32_OVERRIDE");
  ::unsetenv("ONEDNN_DEFAULT_FPMATH_MODE");
  EXPECT_EQ(after["software"]["switches"]["NVIDIA_TF32_OVERRIDE"], "1");
  EXPECT_EQ(after["software"]["switches"]["ONEDNN_DEFAULT_FPMATH_MODE"], "BF16");
  EXPECT_NE(before["hashes"]["software"], after["hashes"]["software"]);
  EXPECT_EQ(before["hashes"]["hardware"], after["hashes"]["hardware"]);
}

TEST(Environment, DescribesThisMachine) {
  const json all = capture_environment();
  for (const char* key : {"processor", "sockets", "cores", "numa_nodes", "caches", "memory_bytes",
                          "instruction_sets", "accelerators", "peaks"})
    EXPECT_TRUE(all["hardware"].contains(key)) << key;
  for (const char* key : {"os", "kernel", "assay", "libraries", "openmp_runtimes", "switches"})
    EXPECT_TRUE(all["software"].contains(key)) << key;
  for (const char* key : {"clock_hz", "governors", "transparent_huge_pages", "load", "steal_s",
                          "temperature_celsius", "throttle_events", "memory_available_bytes",
                          "processors_allowed", "processor_quota", "time", "smt_active"})
    EXPECT_TRUE(all["volatile"].contains(key)) << key;
  // The kernel keeps a little for itself and never shows more than there is.
  ASSERT_TRUE(all["hardware"]["memory_bytes"].is_number());
  const double installed = all["hardware"]["memory_bytes"],
               managed = all["volatile"]["memory_total_bytes"];
  EXPECT_GE(installed * 1.001 + 0x1p30, managed);
  EXPECT_LE(installed * 0.8, managed + 0x1p30);
  EXPECT_EQ(all["hardware"].dump().find(all["host"].get<std::string>()), std::string::npos)
      << "equal nodes have equal hardware";
}

TEST(Environment, LoadedOpenmpRuntimeIsFound) {
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  threads += 1;
  ASSERT_GE(threads, 1);
#ifdef _OPENMP
  EXPECT_FALSE(capture_environment()["software"]["openmp_runtimes"].empty());
#endif
}

TEST(Environment, ProcessorsFollowTheBinding) {
  EXPECT_GE(processors(), 1);
  EXPECT_EQ(in_child([] {
              const int one = environment::allowed_processors().back();
              cpu_set_t set;
              CPU_ZERO(&set);
              CPU_SET(static_cast<std::size_t>(one), &set);
              if (::sched_setaffinity(0, sizeof set, &set) != 0) return 50;
              if (processors() != 1) return 1;
              const json all = capture_environment();
              return all["volatile"]["processors_allowed"] == json::array({one}) ? 0 : 2;
            }),
            0);
}

TEST(Environment, BindingIsNoPartOfTheHashes) {
  const json before = capture_environment()["hashes"];
  EXPECT_EQ(in_child([&] {
              cpu_set_t set;
              CPU_ZERO(&set);
              CPU_SET(static_cast<std::size_t>(environment::allowed_processors().front()), &set);
              ::sched_setaffinity(0, sizeof set, &set);
              return capture_environment()["hashes"] == before ? 0 : 1;
            }),
            0);
}

TEST(Environment, MemoryFollowsTheLimit) {
  const std::size_t available = memory_available();
  EXPECT_GT(available, 1u << 20);
  EXPECT_EQ(in_child([] {
              std::ifstream status("/proc/self/statm");
              std::size_t pages = 0;
              status >> pages;
              const rlim_t used = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)),
                           more = rlim_t{64} << 20;
              const rlimit limit{used + more, used + more};
              if (::setrlimit(RLIMIT_AS, &limit) != 0) return 50;
              return memory_available() <= more ? 0 : 1;
            }),
            0);
}

TEST(Environment, CachesAreCountedTogether) {
  std::size_t largest = 0;
  const json all = capture_environment();
  for (const json& cache : all["hardware"]["caches"])
    largest = std::max(largest, cache["bytes"].get<std::size_t>());
  EXPECT_GE(cache_bytes(), largest);
}

TEST(Environment, SystemNameCanBeGiven) {
  ::setenv("ASSAY_SYSTEM", "frontier", 1);
  EXPECT_EQ(system_name(), "frontier");
  ::setenv("ASSAY_SYSTEM", "", 1);
  EXPECT_FALSE(system_name().empty());
  ::unsetenv("ASSAY_SYSTEM");
  EXPECT_EQ(system_name().find('.'), std::string::npos);
}

TEST(Environment, MissingFilesAreNothing) {
  EXPECT_FALSE(environment::first_line("/proc/no/such/file"));
  EXPECT_FALSE(environment::number_in("/proc/version"));
  EXPECT_FALSE(environment::field_in("/proc/meminfo", "NoSuchField"));
  EXPECT_FALSE(environment::field_in("/proc/meminfo", "Mem"));  // a prefix is no name
  EXPECT_TRUE(environment::field_in("/proc/meminfo", "MemTotal"));
  EXPECT_TRUE(environment::lines("/proc/no/such/file").empty());
}

}  // namespace
}  // namespace assay
