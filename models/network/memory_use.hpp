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
  /// Loads the backends, whose libraries are no part of what the network needs, and counts from
  /// then on.
  MemoryUse(const ExecutorSettings& settings, Plugins& plugins);
  /// The largest growth of the resident memory of this process on a host (PeakMemory). The decrease
  /// of the free memory of a GPU: a network allocates nothing in its steps. 0 if it is not known.
  double bytes() const;
  /// bytes() of the network and `work` alone, not of what was allocated and freed before (checks of
  /// candidates hold their tensors in fp64): the rank's that needs the most. 0, too, if it is less
  /// than `least` on a rank, the bytes that the network has allocated and `work` touches: it then
  /// uses memory that an earlier case has left resident. Collective.
  double measure_peak(const std::function<void()>& work, std::size_t least,
                      Communicator& ranks) const;

 private:
  Device* gpu_ = nullptr;  ///< null: the network is on the host
  double free_ = 0;
  PeakMemory host_;
};

}  // namespace assay
