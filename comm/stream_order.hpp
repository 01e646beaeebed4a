#pragma once
// Transfers that are work of a device's stream: others can be ordered behind them without the host.

#include "core/api/communicator.hpp"

namespace assay {

/// A communicator whose transfers a stream can wait for.
class StreamOrder {
 public:
  virtual ~StreamOrder() = default;
  /// Work that is submitted to `stream` from now on comes after the transfer. The caller still has
  /// to wait() for the request, which alone tells that a transfer has failed. False, and nothing is
  /// changed, where only the host can wait for it.
  virtual bool order(const Request& request, Stream& stream) = 0;
};

/// StreamOrder::order() of `ranks`; false if it has none. A request that is done tells whether
/// others could be ordered.
inline bool order(Communicator& ranks, const Request& request, Stream& stream) {
  auto* const order = dynamic_cast<StreamOrder*>(&ranks);
  return order != nullptr && order->order(request, stream);
}

}  // namespace assay
