#pragma once
// A full mesh of TCP connections between the ranks of a communicator that we have already.

#include <gloo/context.h>

#include <chrono>
#include <string>

#include "core/api/communicator.hpp"

namespace assay::gloo_transport {

/// Longer than any run: an end is the business of the watchdog, which keeps the rows that are done.
constexpr std::chrono::hours no_timeout{24 * 30};

class Mesh final : public gloo::Context {
 public:
  /// Collective: every rank listens, tells the others its addresses through `known`, and connects.
  /// Throws CaseError with gloo's words.
  Mesh(Communicator& known, const std::string& interface);

  /// Whether Gloo's thread lets the caller's finish where both share a processor (SCHED_BATCH).
  bool gives_way() const { return gives_way_; }

 private:
  bool gives_way_ = false;
};

/// The network interface that the ranks shall use: GLOO_SOCKET_IFNAME (as in PyTorch), else the
/// loopback where all ranks are on one host, else the first one that is up and has an address.
/// Throws CaseError where there is none. Collective.
std::string choose_interface(Communicator& known);

}  // namespace assay::gloo_transport
