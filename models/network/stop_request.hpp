#pragma once
// A request to end the process (SIGTERM), for work that saves its state first.

#include <csignal>

namespace assay {

/// While the object exists, SIGTERM does not end the process, but makes is_requested() true. Only
/// one object may exist at a time.
class StopRequest {
 public:
  StopRequest();
  /// Restores the previous action of SIGTERM, and raises it if there was a request.
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;
  bool is_requested() const;

 private:
  struct sigaction before_ {};
};

}  // namespace assay
