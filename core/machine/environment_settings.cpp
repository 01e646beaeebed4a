#include <fnmatch.h>

#include <algorithm>
#include <array>

#include "core/machine/environment_parts.hpp"

namespace assay::environment {
namespace {

/// Settings that a user can choose and that change arithmetic, threading, the choice of kernels or
/// how ranks talk; glob patterns of fnmatch(3). Launchers set variables of some of these families
/// for one job (ids, addresses, directories, secrets), so only named components of these families
/// count. If no launcher configures a library, its whole family counts.
constexpr std::array chosen{
    "OMP_*", "KMP_*", "GOMP_*", "LIBOMP*", "MALLOC_*", "GLIBC_TUNABLES*", "HWLOC_*", "LD_PRELOAD*",
    // computing libraries
    "DNNL_*", "ONEDNN_*", "ASSAY_NATIVE_*", "ASSAY_CUDA_*", "NVIDIA_TF32_OVERRIDE*", "CUBLAS*",
    "CUDNN_*", "CUDA_*", "MKL_*", "OPENBLAS*", "GOTO_*", "BLIS_*", "ROCBLAS*", "MIOPEN_*", "HIP_*",
    "HSA_*", "ROCR_*", "SYCL_*", "ONEAPI_*", "ZE_*", "TF_ENABLE_*", "NUMBA_*",
    // transports
    "CCL_*", "GLOO_*", "NCCL_*", "UCX_*", "FI_*", "MPIR_CVAR_*", "MPICH_*",
    // Open MPI: its frameworks for messages, memory and binding. The frameworks that start a job
    // (ess, pmix, orte, plm, ras, oob, routed and the like) are not included.
    "OMPI_MCA_@(accelerator|allocator|bml|btl|coll|common|fbtl|fcoll|fs|hwloc|io|memory|mpi|mpool|"
    "mtl|op|opal|osc|part|patcher|pml|rcache|rmaps|sharedfp|smsc|threads|topo|vprotocol)?(_*)",
    "OMPI_MCA_shmem", "PRTE_MCA_@(hwloc|rmaps)?(_*)", "PMIX_MCA_gds", "PMIX_MCA_gds_*",
    // process managers: binding, distribution, and what Cray's PMI lets a user set
    "PMI_@(MAX_KVS_ENTRIES|MMAP_SYNC_WAIT_TIME|NO_FORK|NO_PREINITIALIZE)",
    "SLURM_@(CORE_SPEC|CPU_BIND_TYPE|CPU_FREQ_REQ|CPUS_PER_TASK|DISTRIBUTION|EXCLUSIVE|GPU_BIND|"
    "GPU_FREQ|GPUS_PER_TASK|HINT|MEM_BIND_TYPE|MPI_TYPE|NETWORK|NTASKS_PER_NODE|OVERCOMMIT|"
    "PMIX_DIRECT_CONN|PMIX_DIRECT_CONN_UCX|THREADS_PER_CORE)",
    "PALS_@(CPU_BIND|DEPTH|GPU_BIND|MEM_BIND|PMI|PPN|RLIMITS)"};

/// Variables of these families that belong to one job or one rank, or name a folder. The folder of
/// a package changes nothing; the loaded library is listed under "libraries". Files that a library
/// writes have a process id in their names.
constexpr std::array of_one_job{
    "*HOME",
    "*PATH",
    "*ROOT",
    "*@(DIR|_dir|_directory|_wdir)",
    "*_HOSTNAME",
    "*_UUID",
    "CCL_KVS_*",
    "CCL_LOCAL_@(RANK|SIZE)",
    "GLOO_RENDEZVOUS_*",
    "NCCL_@(COMM_ID|HOSTID)",
    "NCCL_@(DEBUG|GRAPH_DUMP|TOPO_DUMP)_FILE",
    "UCX_LOG_FILE*",
    "UCX_STATS_DEST",
    "OMPI_MCA_mpi_oversubscribe"};  // mpirun sets it: whether this job has more ranks than slots

template <std::size_t N>
bool matches(const std::array<const char*, N>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const char* pattern) {
    return ::fnmatch(pattern, name.c_str(), FNM_EXTMATCH) == 0;
  });
}

}  // namespace

bool is_user_setting(const std::string& variable) {
  return matches(chosen, variable) && !matches(of_one_job, variable);
}

}  // namespace assay::environment
