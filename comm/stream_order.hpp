#pragma once
// Transfers that run on a device's stream: other work can be ordered behind them without the host.

#include "core/api/communicator.hpp"

namespace assay {

/// A communicator whose transfers a stream can wait for.
class StreamOrder {
 public:
  virtual ~StreamOrder() = default;
  /// Work that is submitted to `stream` from now on comes after the transfer. The caller still has
  /// to wait() for the request, which alone tells that a transfer has failed. If only the host can
  /// wait for the transfer, returns false and changes nothing.
  virtual bool order(const Request& request, Stream& stream) = 0;
};

/// StreamOrder::order() of `ranks`; false if it has none. A request that is already done also shows
/// whether the ranks support ordering.
inline bool order(Communicator& ranks, const Request& request, Stream& stream) {
  auto* const order = dynamic_cast<StreamOrder*>(&ranks);
  return order != nullptr && order->order(request, stream);
}

}  // namespace assay
