// The transport of MPI. It also connects the ranks that a launcher started, for the runner's own
// messages.

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>

#include "comm/mpi/communicator.hpp"
#include "core/api/backend_entry.hpp"
#include "core/api/host_device.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/machine/launched.hpp"

namespace assay::mpi {

namespace {

/// Why MPI_Init would make this process a singleton although a launcher started several; or empty.
std::string why_not_launched() {
  const LaunchInfo start = read_launch_info();
  if (start.size == 1) return "";
#if defined(OPEN_MPI)
  const bool understood = std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMIX_RANK");
#else
  const bool understood = std::getenv("PMI_RANK") || std::getenv("PMIX_RANK");
#endif
  if (understood) return "";
  // Slurm supports this MPI by PMIx, which may not be Slurm's default.
  const char* const more = start.by.starts_with("srun") ? "set SLURM_MPI_TYPE=pmix, " : "";
  return fmt::format(
      "{} has started {} processes, but this build's MPI is {} and each would initialise as a "
      "singleton. Use the launcher of {}, {}or build with the other MPI",
      start.by, start.size, library_name(), library_name(), more);
}

/// MPI opens its own components, which need the symbols of its library. Plugins are opened with
/// RTLD_LOCAL, so this makes the library global.
void make_visible() {
  Dl_info where{};
  if (dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &where) != 0 && where.dli_fname != nullptr)
    dlopen(where.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

class MpiBackend final : public Backend {
 public:
  ~MpiBackend() override {
    int over = 0;
    MPI_Finalized(&over);
    // MPI_Finalize waits for all ranks, so a rank that leaves by an exception must not call it.
    if (ours_ && over == 0 && std::uncaught_exceptions() == 0) MPI_Finalize();
  }
  std::string name() const override { return ASSAY_MPI_NAME; }
  nlohmann::json software() const override {
    int major = 0, minor = 0;
    MPI_Get_version(&major, &minor);
    return {{"library", library_name()}, {"standard", fmt::format("MPI {}.{}", major, minor)}};
  }
  Result<Device*> device(const Options& options) override {
    const std::string wanted = options.get("device", "cpu");
    if (wanted != "cpu")
      return Unsupported{fmt::format(
          "{} transfers host memory here, not that of '{}'. Use --device cpu.", name(), wanted)};
    return &device_;
  }
  Result<std::unique_ptr<Operation>> make(const Problem& problem, const Options&,
                                          Communicator&) override {
    return Unsupported{fmt::format("{} is a transport: it has no {}", name(), problem.kind())};
  }
  Result<std::unique_ptr<Communicator>> connect(const Options& options, Communicator&) override;

 private:
  HostDevice device_;
  bool ours_ = false;  ///< MPI was initialised here
};

Result<std::unique_ptr<Communicator>> MpiBackend::connect(const Options& options, Communicator&) {
  if (std::string reason = why_not_launched(); !reason.empty())
    return Unsupported{std::move(reason)};
  int running = 0, over = 0;
  MPI_Initialized(&running);
  MPI_Finalized(&over);
  if (over != 0) return Unsupported{"MPI is finalized already (it cannot be initialised again)"};
  if (running == 0) {
    make_visible();
    int level = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
    // MPICH passes some errors of messages to the handler of MPI_COMM_WORLD, whose default ends the
    // job.
    for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF})
      check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    ours_ = true;
  }
  MPI_Comm all = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &all), "MPI_Comm_dup");
  int rank = 0, size = 1;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  if (size != read_launch_info().size)
    return Unsupported{fmt::format(
        "{} has started {} processes, but {} joins {} of them. Use the launcher of this MPI",
        read_launch_info().by, read_launch_info().size, library_name(), size)};
  const std::uint64_t imposed = whole_number("--ranks-per-node", options.get("ranks_per_node", "0"),
                                             0, std::numeric_limits<int>::max());
  int node = rank;
  if (imposed > 0) {
    node = rank / static_cast<int>(imposed);
  } else {
    // The lowest rank that shares memory with this rank identifies the node.
    MPI_Comm here = MPI_COMM_NULL;
    check(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &here),
          "MPI_Comm_split_type");
    check(MPI_Bcast(&node, 1, MPI_INT, 0, here), "MPI_Bcast");
    MPI_Comm_free(&here);
  }
  return std::unique_ptr<Communicator>(std::make_unique<MpiCommunicator>(all, node));
}

/// Two MPI libraries in one process define the same symbols: the first global one receives all
/// calls, but its handles are incompatible.
Backend* create(std::string& reason) {
#if defined(OPEN_MPI)
  const std::string own = "Open MPI";
#elif defined(MPICH_VERSION)
  const std::string own = "MPICH";
#else
  const std::string own;
#endif
  if (library_name().starts_with(own)) return new MpiBackend;
  reason = fmt::format("it was built for {}, but this process has loaded {} already", own,
                       library_name());
  return nullptr;
}

}  // namespace
}  // namespace assay::mpi

ASSAY_BACKEND(&assay::mpi::create)
