#pragma once
// Transfers that are work of a device's stream: others can be ordered behind them without the host.

#include "core/api/communicator.hpp"

namespace assay {

/// A communicator whose transfers a stream can wait for.
class StreamOrdered {
 public:
  virtual ~StreamOrdered() = default;
  /// What is submitted to `stream` from now on comes after the request, which is done for the host;
  /// the host does not wait. False, and nothing is changed, where only the host can wait for it.
  virtual bool order(Request& request, Stream& stream) = 0;
};

/// StreamOrdered::order() of `ranks`; false if it is none. Of a request that is done already it
/// says whether others could be ordered.
inline bool order(Communicator& ranks, Request& request, Stream& stream) {
  auto* const ordered = dynamic_cast<StreamOrdered*>(&ranks);
  return ordered != nullptr && ordered->order(request, stream);
}

}  // namespace assay
