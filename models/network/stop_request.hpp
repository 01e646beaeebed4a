#pragma once
// Whether this process was asked to end, for work that first saves what it has.

#include <csignal>

namespace assay {

/// As long as it lives, SIGTERM is noted instead of ending the process. One at a time.
class StopRequest {
 public:
  StopRequest();
  /// What SIGTERM did before is in force again.
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;
  bool asked() const;

 private:
  struct sigaction before_ {};
};

}  // namespace assay
