#pragma once
// What a process still says when a signal asks it to end.

#include <string>

namespace assay {

/// As long as it lives, SIGINT, SIGTERM and SIGHUP write `text` to stderr before they end the
/// process. One at a time. A signal that is ignored (nohup) or that a library handles is left as it
/// is.
class SignalNote final {
 public:
  explicit SignalNote(const std::string& text);
  ~SignalNote();
  SignalNote(const SignalNote&) = delete;
  SignalNote& operator=(const SignalNote&) = delete;
};

}  // namespace assay
