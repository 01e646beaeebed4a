#pragma once
// A last message of a process that a signal ends.

#include <string>

namespace assay {

/// While the object exists, SIGINT, SIGTERM and SIGHUP write `text` to stderr before they end the
/// process. Signals that are ignored (nohup) or that a library handles are not affected. Only one
/// object may exist at a time.
class SignalNote final {
 public:
  explicit SignalNote(const std::string& text);
  ~SignalNote();
  SignalNote(const SignalNote&) = delete;
  SignalNote& operator=(const SignalNote&) = delete;
};

}  // namespace assay
