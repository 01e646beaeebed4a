#pragma once
// Colours of status words on terminals.

#include <string>

namespace assay {

/// Whether text for this file descriptor may have colours: it is a terminal, NO_COLOR is not set
/// (https://no-color.org), TERM is not "dumb", and no launcher started the process (Open MPI's
/// mpirun gives ranks pseudo-terminals even if its own output goes to a file).
bool colour_wanted(int descriptor);

/// A status word in its colour: green for ok and available, yellow for unsupported and unavailable,
/// else red. Unchanged if `colour` is false.
std::string coloured(const std::string& status, bool colour);

}  // namespace assay
