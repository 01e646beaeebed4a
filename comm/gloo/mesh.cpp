#include "comm/gloo/mesh.hpp"

#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "comm/known_ranks.hpp"
#include "core/base/error.hpp"

namespace assay::gloo_transport {

namespace {

/// The name of the first interface that is up and is (not) the loopback; IPv4 has priority.
std::string first_interface(bool loopback) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "";
  std::string name;
  for (const int family : {AF_INET, AF_INET6})
    for (const ifaddrs* address = all; address != nullptr && name.empty();
         address = address->ifa_next)
      if (address->ifa_addr != nullptr && address->ifa_addr->sa_family == family &&
          (address->ifa_flags & IFF_UP) != 0 &&
          ((address->ifa_flags & IFF_LOOPBACK) != 0) == loopback)
        name = address->ifa_name;
  freeifaddrs(all);
  return name;
}

/// The addresses that the other ranks have for `rank`. A text in `all` holds the addresses of one
/// rank for all ranks, which have equal lengths.
std::vector<std::vector<char>> addresses_for(int rank, const std::vector<std::string>& all) {
  std::vector<std::vector<char>> mine;
  for (std::size_t other = 0; other < all.size(); ++other) {
    const std::vector<char> bytes = unhex(all[other]);
    const std::size_t length = bytes.size() / all.size();
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(length) * rank;
    mine.emplace_back(from, from + static_cast<std::ptrdiff_t>(length));
  }
  return mine;
}

/// Gloo's thread tries a pair's lock and retries at once while the caller's thread holds it. On a
/// shared processor it would preempt the holder and spin until the scheduler's tick: an allreduce
/// of 400 kB between two ranks on two processors took 4 ms, and takes 0.13 ms with SCHED_BATCH. A
/// SCHED_BATCH thread does not preempt another thread when it wakes; on a processor of its own
/// nothing changes. A thread inherits the policy of its creator. A policy other than the default
/// was chosen by the user, and is kept.
class BatchPolicy final {
 public:
  BatchPolicy() {
    if (sched_getscheduler(0) == SCHED_OTHER) set_ = set(SCHED_BATCH);
  }
  ~BatchPolicy() {
    if (set_) set(SCHED_OTHER);
  }
  BatchPolicy(const BatchPolicy&) = delete;
  BatchPolicy& operator=(const BatchPolicy&) = delete;
  bool is_set() const { return set_; }

 private:
  static bool set(int policy) {
    const sched_param none{};
    return sched_setscheduler(0, policy, &none) == 0;
  }
  bool set_ = false;
};

}  // namespace

std::string choose_interface(Communicator& known) {
  std::vector<std::string> hosts = known.allgather(known.host());
  const char* const wanted = std::getenv("GLOO_SOCKET_IFNAME");
  const bool alone =
      std::count(hosts.begin(), hosts.end(), hosts[0]) == static_cast<std::ptrdiff_t>(hosts.size());
  const std::string interface = wanted != nullptr ? wanted : first_interface(alone);
  std::string fault;
  if (interface.empty())
    fault = wanted != nullptr
                ? "has an empty GLOO_SOCKET_IFNAME. Name a network interface in it, or unset it."
                : "has no network interface that is up. Name one in GLOO_SOCKET_IFNAME.";
  // If a rank has no interface, the other ranks must not wait for its address.
  const std::vector<std::string> faults = known.allgather(fault);
  for (std::size_t rank = 0; rank < faults.size(); ++rank)
    if (!faults[rank].empty())
      throw CaseError("gloo: rank " + std::to_string(rank) + " on " + hosts[rank] + " " +
                      faults[rank]);
  return interface;
}

Mesh::Mesh(Communicator& known, const std::string& interface)
    : gloo::Context(known.rank(), known.size()) {
  // A write to a peer that has died must be an error of the call, not the end of this process.
  struct sigaction broken_pipe {};
  sigaction(SIGPIPE, nullptr, &broken_pipe);
  if (broken_pipe.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);

  std::string failure;
  std::vector<char> listening;
  try {
    gloo::transport::tcp::attr attributes;
    attributes.iface = interface;
    {
      const BatchPolicy of_its_thread;
      device_ = gloo::transport::tcp::CreateDevice(attributes);
      gives_way_ = of_its_thread.is_set();
    }
    transportContext_ = device_->createContext(rank, size);
    transportContext_->setTimeout(std::chrono::seconds(30));  // only while connecting
    std::vector<std::vector<char>> addresses(static_cast<std::size_t>(size));
    std::size_t length = 0;
    for (int other = 0; other < size; ++other) {
      if (other == rank) continue;
      addresses[static_cast<std::size_t>(other)] =
          transportContext_->createPair(other)->address().bytes();
      length = addresses[static_cast<std::size_t>(other)].size();
    }
    for (std::vector<char>& address : addresses) {
      address.resize(length);
      listening.insert(listening.end(), address.begin(), address.end());
    }
  } catch (const std::exception& error) {
    failure = error.what();
  }
  const std::vector<std::string> texts = known.allgather(failure);
  const std::vector<std::string> all = known.allgather(hex(listening));
  for (std::size_t other = 0; other < texts.size(); ++other)
    if (!texts[other].empty())
      throw CaseError("gloo: rank " + std::to_string(other) + " cannot listen on " + interface +
                      " (" + texts[other] + "). Name another interface in GLOO_SOCKET_IFNAME.");
  try {
    const std::vector<std::vector<char>> theirs = addresses_for(rank, all);
    for (int other = 0; other < size; ++other)
      if (other != rank)
        transportContext_->getPair(other)->connect(theirs[static_cast<std::size_t>(other)]);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  for (const std::string& text : known.allgather(failure))
    if (!text.empty())
      throw CaseError("gloo: the ranks cannot connect over " + interface + " (" + text +
                      "). Name another interface in GLOO_SOCKET_IFNAME.");
  setTimeout(no_timeout);
  transportContext_->setTimeout(no_timeout);
}

}  // namespace assay::gloo_transport
