#pragma once
// Colour of status words, on terminals only.

#include <string>

namespace assay {

/// Whether text for this descriptor may hold colours: it is a terminal, NO_COLOR is not set
/// (https://no-color.org), TERM is not "dumb", and no launcher started this rank: one of Open MPI
/// gives ranks pseudo-terminals, wherever its own output goes.
bool colour_wanted(int descriptor);

/// A status word: green for what is ok, yellow for unsupported, red for incorrect, failed and
/// timeout; as it is where `colour` is false.
std::string coloured(const std::string& status, bool colour);

}  // namespace assay
