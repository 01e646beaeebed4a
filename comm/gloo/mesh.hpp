#pragma once
// A full mesh of TCP connections between ranks that another communicator already connects.

#include <gloo/context.h>

#include <chrono>
#include <string>

#include "core/api/communicator.hpp"

namespace assay::gloo_transport {

/// Longer than any run: the watchdog ends a run that hangs, and keeps its finished rows.
constexpr std::chrono::hours no_timeout{24 * 30};

class Mesh final : public gloo::Context {
 public:
  /// Collective: each rank listens, sends its addresses to the other ranks through `known`, and
  /// connects. Throws CaseError with Gloo's message.
  Mesh(Communicator& known, const std::string& interface);

  /// True if Gloo's thread runs with SCHED_BATCH, so that the caller's thread has priority where
  /// both share a processor.
  bool gives_way() const { return gives_way_; }

 private:
  bool gives_way_ = false;
};

/// The network interface to use: GLOO_SOCKET_IFNAME (as in PyTorch), else the loopback interface
/// where all ranks are on one host, else the first interface that is up and has an address. Throws
/// CaseError where there is no such interface. Collective.
std::string choose_interface(Communicator& known);

}  // namespace assay::gloo_transport
