#pragma once
// The memory that a network needs.

#include <cstddef>
#include <functional>

#include "core/machine/peak_memory.hpp"
#include "core/program/plugins.hpp"
#include "models/network/executor.hpp"

namespace assay {

class MemoryUse {
 public:
  /// Loads the backends first, because their libraries do not count as memory of the network.
  /// Counts from then on.
  MemoryUse(const ExecutorSettings& settings, Plugins& plugins);
  /// On a host: the largest growth of this process's resident memory (PeakMemory). On a GPU: the
  /// decrease of its free memory, which is constant during steps, as they allocate nothing. 0:
  /// unknown.
  double bytes() const;
  /// bytes() of the network and `work` on the rank that needs the most, without memory that was
  /// freed before (checks of candidates hold tensors in fp64). `least`: the bytes that the network
  /// has allocated and `work` touches. Returns 0 if a rank's bytes() is less than that: it then
  /// reuses memory that an earlier case has left resident. Collective.
  double measure_peak(const std::function<void()>& work, std::size_t least,
                      Communicator& ranks) const;

 private:
  Device* gpu_ = nullptr;  ///< null: the network is on the host
  double free_ = 0;
  PeakMemory host_;
};

}  // namespace assay
