#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/environment.hpp"
#include "core/machine/environment_parts.hpp"
#include "result_fixture.hpp"

namespace assay {
namespace test_environment {

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

TEST(Environment, ACappedClockIsAPartOfTheHighest) {
  const fixture::Folder folder;
  const auto write = [&](int number, const char* limit, const char* most) {
    const auto files = folder.path() / ("cpu" + std::to_string(number)) / "cpufreq";
    std::filesystem::create_directories(files);
    std::ofstream(files / "scaling_max_freq") << limit;
    std::ofstream(files / "cpuinfo_max_freq") << most;
  };
  write(0, "3000000\n", "3000000\n");
  write(1, "1500000\n", "3000000\n");
  EXPECT_EQ(environment::clock_limit({0}, folder.path()), 1.0);
  EXPECT_EQ(environment::clock_limit({0, 1}, folder.path()), 0.5);
  EXPECT_TRUE(environment::clock_limit({2}, folder.path()).is_null());
  write(3, "2450000\n", "3529052\n");  // acpi-cpufreq of an EPYC 7763: the boost clock is no limit
  std::ofstream(folder.path() / "cpu3" / "cpufreq" / "scaling_available_frequencies")
      << "2450000 2000000 1500000 \n";
  EXPECT_EQ(environment::clock_limit({3}, folder.path()), 1.0);
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

/// Variables that are set for as long as this lives.
class Variables {
 public:
  using List = std::vector<std::pair<std::string, std::string>>;
  explicit Variables(List list) : list_(std::move(list)) {
    for (const auto& [name, value] : list_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : list_) ::unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  List list_;
};

TEST(Environment, WhatBelongsToOneJobIsNoSoftware) {
  const json before = capture_environment();
  const Variables::List of_one_job{
      {"OMPI_MCA_ess", "^singleton"},
      {"OMPI_MCA_ess_base_jobid", "1596260353"},
      {"OMPI_MCA_ess_base_vpid", "0"},
      {"OMPI_MCA_initial_wdir", "/home/me"},
      {"OMPI_MCA_mpi_oversubscribe", "0"},
      {"OMPI_MCA_orte_app_num", "0"},
      {"OMPI_MCA_orte_ess_num_procs", "2"},
      {"OMPI_MCA_orte_hnp_uri", "1596260352.0;tcp://192.0.2.2:50929"},
      {"OMPI_MCA_orte_jobfam_session_dir", "/tmp/ompi.vm.0/pid.13275"},
      {"OMPI_MCA_orte_local_daemon_uri", "1596260352.0;tcp://192.0.2.2:50929"},
      {"OMPI_MCA_orte_precondition_transports", "c14156ac1fa52589-3aa10c67259fcbcc"},
      {"OMPI_MCA_orte_top_session_dir", "/tmp/ompi.vm.0"},
      {"OMPI_MCA_pmix", "^s1,s2,cray,isolated"},
      {"OMPI_MCA_shmem_RUNTIME_QUERY_hint", "mmap"},
      {"OMPI_MCA_btl_vader_backing_directory", "/dev/shm/job.17"},
      {"OMPI_COMM_WORLD_RANK", "0"},
      {"OMPI_UNIVERSE_SIZE", "2"},
      {"PRTE_MCA_prte_hnp_uri", "prterun-vm-13275@0.0;tcp://192.0.2.2:50929"},
      {"PRTE_MCA_ess_base_nspace", "prterun-vm-13275@1"},
      {"PMIX_NAMESPACE", "1596260353"},
      {"PMIX_RANK", "0"},
      {"PMIX_ID", "1596260353.0"},
      {"PMIX_HOSTNAME", "node17"},
      {"PMIX_SERVER_URI41", "1596260352.0;tcp4://127.0.0.1:53901"},
      {"PMIX_SERVER_TMPDIR", "/tmp/ompi.vm.0/pid.13275"},
      {"PMIX_DSTORE_21_BASE_PATH", "/tmp/ompi.vm.0/pid.13275/pmix_dstor_ds21_13275"},
      {"PMIX_GDS_MODULE", "ds21,ds12,hash"},
      {"PMIX_MCA_ptl_tcp_port", "53901"},
      {"PMI_RANK", "0"},
      {"PMI_SIZE", "2"},
      {"PMI_FD", "6"},
      {"PMI_PORT", "vm:40001"},
      {"PMI_ID", "0"},
      {"PMI_JOBID", "17.0"},
      {"PMI_CONTROL_PORT", "20155"},
      {"PMI_SHARED_SECRET", "11529215046068469760"},
      {"MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "node17"},
      {"MPICH_INTERFACE_HOSTNAME", "node17"},
      {"MPI_LOCALRANKID", "0"},
      {"HYDI_CONTROL_FD", "7"},
      {"SLURM_JOB_ID", "4242"},
      {"SLURM_JOB_NODELIST", "node[17-18]"},
      {"SLURM_STEP_ID", "3"},
      {"SLURM_STEP_NODELIST", "node17"},
      {"SLURM_PROCID", "0"},
      {"SLURM_TASK_PID", "13275"},
      {"SLURM_SRUN_COMM_PORT", "40001"},
      {"SLURM_LAUNCH_NODE_IPADDR", "192.0.2.2"},
      {"SLURM_CPU_BIND", "quiet,mask_cpu:0x00000003"},
      {"SLURM_CPU_BIND_LIST", "0x00000003"},
      {"SLURM_MPI_TYPE_STATE", "17"},
      {"PALS_APID", "1b8c3a7e-5f0d-4e5a-9b0e-0d9d4b8f5a11"},
      {"PALS_RANKID", "0"},
      {"PALS_NODEID", "0"},
      {"PALS_SPOOL_DIR", "/var/run/palsd/1b8c3a7e"},
      {"PALS_HOSTLIST", "x1000c0s0b0n0"},
      {"CCL_LOCAL_RANK", "0"},
      {"CCL_LOCAL_SIZE", "2"},
      {"CCL_KVS_IP_PORT", "192.0.2.2_40001"},
      {"CCL_ROOT", "/opt/oneapi/ccl"},
      {"GLOO_RENDEZVOUS_ADDR", "192.0.2.2"},
      {"GLOO_RENDEZVOUS_PORT", "40001"},
      {"NCCL_COMM_ID", "192.0.2.2:40001"},
      {"NCCL_HOSTID", "node17"},
      {"NCCL_DEBUG_FILE", "/tmp/nccl.13275"},
      {"UCX_LOG_FILE", "/tmp/ucx.13275"},
      {"UCX_STATS_DEST", "udp:192.0.2.2:37873"},
      {"FI_PSM2_UUID", "c14156ac-1fa5-2589-3aa1-0c67259fcbcc"},
      {"FI_OPX_UUID", "c14156ac-1fa5-2589-3aa1-0c67259fcbcc"},
      {"FI_PROVIDER_PATH", "/opt/libfabric"}};
  const Variables set(of_one_job);
  const json after = capture_environment();
  for (const auto& [name, value] : of_one_job)
    EXPECT_FALSE(after["software"]["switches"].contains(name)) << name;
  EXPECT_EQ(after["hashes"], before["hashes"]);
}

TEST(Environment, WhatAUserChoosesIsSoftware) {
  const json before = capture_environment();
  for (const std::string name : {"OMPI_MCA_btl",
                                 "OMPI_MCA_btl_tcp_if_include",
                                 "OMPI_MCA_pml",
                                 "OMPI_MCA_mtl",
                                 "OMPI_MCA_coll_tuned_use_dynamic_rules",
                                 "OMPI_MCA_coll_tuned_allreduce_algorithm",
                                 "OMPI_MCA_mpi_yield_when_idle",
                                 "OMPI_MCA_rmaps_base_mapping_policy",
                                 "OMPI_MCA_hwloc_base_binding_policy",
                                 "PRTE_MCA_rmaps_default_mapping_policy",
                                 "PMIX_MCA_gds",
                                 "PMI_NO_PREINITIALIZE",
                                 "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM",
                                 "MPICH_GPU_SUPPORT_ENABLED",
                                 "SLURM_DISTRIBUTION",
                                 "SLURM_HINT",
                                 "SLURM_CPU_FREQ_REQ",
                                 "SLURM_CPU_BIND_TYPE",
                                 "PALS_CPU_BIND",
                                 "PALS_DEPTH",
                                 "CCL_ALLREDUCE",
                                 "CCL_WORKER_COUNT",
                                 "CCL_YIELD",
                                 "GLOO_SOCKET_IFNAME",
                                 "NCCL_ALGO",
                                 "NCCL_PROTO",
                                 "NCCL_SOCKET_IFNAME",
                                 "UCX_TLS",
                                 "UCX_NET_DEVICES",
                                 "FI_PROVIDER",
                                 "FI_CXI_RX_MATCH_MODE",
                                 "OMP_PROC_BIND",
                                 "ONEDNN_MAX_CPU_ISA",
                                 "KMP_BLOCKTIME",
                                 "NVIDIA_TF32_OVERRIDE",
                                 "ASSAY_NATIVE_TARGET"}) {
    const Variables set({{name, "a value of its own"}});
    const json after = capture_environment();
    EXPECT_EQ(after["software"]["switches"][name], "a value of its own");
    EXPECT_NE(after["hashes"]["software"], before["hashes"]["software"]) << name;
  }
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
              const int value = environment::list_allowed_processors().back();
              cpu_set_t set;
              CPU_ZERO(&set);
              CPU_SET(static_cast<std::size_t>(value), &set);
              if (::sched_setaffinity(0, sizeof set, &set) != 0) return 50;
              if (processors() != 1) return 1;
              const json all = capture_environment();
              return all["volatile"]["processors_allowed"] == json::array({value}) ? 0 : 2;
            }),
            0);
}

TEST(Environment, BindingIsNoPartOfTheHashes) {
  const json before = capture_environment()["hashes"];
  EXPECT_EQ(in_child([&] {
              cpu_set_t set;
              CPU_ZERO(&set);
              CPU_SET(static_cast<std::size_t>(environment::list_allowed_processors().front()),
                      &set);
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

}  // namespace test_environment
}  // namespace assay
