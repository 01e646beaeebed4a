#pragma once
// The width of terminals, and the colours of status words on them.

#include <cstddef>
#include <optional>
#include <string>

namespace assay {

inline constexpr std::size_t least_terminal_width = 80;

/// Columns of the terminal that a file descriptor leads to: COLUMNS if that is set, else the size
/// that the terminal reports; at least 80. Nothing if it leads to a file or a pipe, whose text must
/// not depend on a window, or if a launcher started the process (see colour_wanted), or if the
/// width is unknown.
std::optional<std::size_t> find_terminal_width(int descriptor);

/// True if text for this file descriptor may have colours: it is a terminal, NO_COLOR is not set
/// (https://no-color.org), TERM is not "dumb", and no launcher started the process (Open MPI's
/// mpirun gives ranks pseudo-terminals even if its own output goes to a file).
bool colour_wanted(int descriptor);

/// A status word in its colour: green for ok and available, yellow for unsupported and unavailable,
/// else red. Unchanged if `colour` is false.
std::string add_colour(const std::string& status, bool colour);

}  // namespace assay
