#pragma once
// Reasons for which a run ends early and can be resumed.

#include <stdexcept>

namespace assay {

/// A signal asked this process to end. Not an error: finished rows are in the journal, and the run
/// can be resumed.
struct Interrupted {
  int signal = 0;
};

/// A benchmark could not write the journal (a full disk, a quota).
class JournalLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace assay
