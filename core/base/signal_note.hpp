#pragma once
// The last actions of a process that a signal ends: a message, and the removal of temporary files.

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

/// From now on signals that end the process by default remove its temporary files first
/// (core/base/temporary.hpp).
void remove_temporaries_by_signals();

}  // namespace assay
