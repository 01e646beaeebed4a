#pragma once
// The width of terminals.

#include <cstddef>
#include <optional>

namespace assay {

inline constexpr std::size_t least_terminal_width = 80;

/// Columns of the terminal that a file descriptor leads to: COLUMNS if that is set, else the size
/// that the terminal reports; at least 80. Nothing if it leads to a file or a pipe, whose text must
/// not depend on a window, or if a launcher started the process (see colour_wanted), or if the
/// width is unknown.
std::optional<std::size_t> terminal_width(int descriptor);

}  // namespace assay
