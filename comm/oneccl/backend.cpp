#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "comm/oneccl/communicator.hpp"
#include "core/api/backend_entry.hpp"
#include "core/api/host_device.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/machine/environment.hpp"

namespace assay::oneccl {
namespace {

constexpr const char* fabric = "libfabric.so.1";

/// The library logs to stdout, which is for results. While an Aside exists, stdout is redirected to
/// stderr.
class Aside {
 public:
  Aside() {
    std::fflush(stdout);
    std::cout.flush();
    saved_ = dup(STDOUT_FILENO);
    if (saved_ >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~Aside() {
    if (saved_ < 0) return;
    std::fflush(stdout);
    std::cout.flush();
    dup2(saved_, STDOUT_FILENO);
    close(saved_);
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  int saved_ = -1;
};

/// Number of processors on which the ranks of this host together may run. Collective.
int processors_here(Communicator& known, const std::vector<std::string>& hosts) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return processors();
  std::vector<char> bytes(sizeof mine);
  std::memcpy(bytes.data(), &mine, sizeof mine);
  const std::vector<std::string> all = known.allgather(hex(bytes));
  cpu_set_t together;
  CPU_ZERO(&together);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (hosts[rank] != known.host()) continue;
    bytes = unhex(all[rank]);
    cpu_set_t theirs;
    CPU_ZERO(&theirs);
    std::memcpy(&theirs, bytes.data(), std::min(bytes.size(), sizeof theirs));
    CPU_OR(&together, &together, &theirs);
  }
  // All ranks of the host share the cgroup's quota.
  const bool quota = processors() < CPU_COUNT(&mine);
  return quota ? std::min(processors(), CPU_COUNT(&together)) : CPU_COUNT(&together);
}

class OneCclBackend final : public Backend {
 public:
  std::string name() const override { return "oneccl"; }
  nlohmann::json software() const override {
    nlohmann::json software = {{"oneccl", version()},
                               {"transport", read_variable("CCL_ATL_TRANSPORT", "ofi")},
                               {"provider", nullptr}};  // libfabric's own choice
    if (const char* provider = std::getenv("FI_PROVIDER")) software["provider"] = provider;
    return software;
  }
  Result<Device*> device(const Options& options) override {
    const std::string wanted = options.get("device", "cpu");
    if (wanted != "cpu")
      return Unsupported{"oneccl has no device '" + wanted +
                         "' (this build is the library for processors)"};
    return &device_;
  }

  Result<std::unique_ptr<Communicator>> connect(const Options& options,
                                                Communicator& known) override {
    const Result<Device*> place = device(options);
    if (const auto* refusal = std::get_if<Unsupported>(&place)) return *refusal;
    const Aside talk;
    initialise(known);
    return std::make_unique<OneCclCommunicator>(read_ranks(known, options));
  }

 private:
  static std::string read_variable(const char* variable, const char* otherwise) {
    const char* value = std::getenv(variable);
    return value == nullptr ? otherwise : value;
  }

  /// The library recognises only Intel MPI's launcher. Without these variables, each rank assumes
  /// that it is alone on its node, and all ranks pin their worker threads to the same core. The
  /// user's settings are kept.
  void initialise(Communicator& known) {
    if (initialised_) return;
    const std::vector<std::string> hosts = known.allgather(known.host());
    int before = 0, all = 0;
    for (int rank = 0; rank < known.size(); ++rank) {
      if (hosts[static_cast<std::size_t>(rank)] != known.host()) continue;
      ++all;
      if (rank < known.rank()) ++before;
    }
    // Every rank has its own thread and the library's workers, and all of them spin while they
    // wait. If ranks share processors, each message waits until the scheduler takes the processor
    // from one that spins: an allreduce of 4 bytes took 40 ms on two processors. Threads that sleep
    // take longer to wake (0.4 to 2 ms) than those that offer the processor (0.1 ms).
    const int threads =
        all *
        (1 + std::max(1, parse_number<int>(read_variable("CCL_WORKER_COUNT", "1")).value_or(1)));
    if (threads > processors_here(known, hosts)) setenv("CCL_YIELD", "sched_yield", 0);
    setenv("CCL_ATL_TRANSPORT", "ofi", 0);
    setenv("CCL_PROCESS_LAUNCHER", "none", 0);
    setenv("CCL_LOCAL_RANK", std::to_string(before).c_str(), 0);
    setenv("CCL_LOCAL_SIZE", std::to_string(all).c_str(), 0);
    setenv("CCL_OFI_LIBRARY_PATH", fabric, 0);
    setenv("CCL_LOG_LEVEL", "error", 0);  // it warns of each variable that is set
    try {
      ccl::init();
    } catch (const ccl::exception& error) {
      throw CaseError(words(error));
    }
    initialised_ = true;
  }

  HostDevice device_;
  bool initialised_ = false;
};

Backend* create(std::string& reason) {
  // Checks libfabric now: oneCCL opens it only for the first communicator, where a single rank
  // could fail.
  if (std::getenv("CCL_OFI_LIBRARY_PATH") == nullptr && dlopen(fabric, RTLD_NOW) == nullptr) {
    reason = dlerror();
    return nullptr;
  }
  return new OneCclBackend;
}

}  // namespace
}  // namespace assay::oneccl

ASSAY_BACKEND(&assay::oneccl::create)
