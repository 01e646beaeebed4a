#pragma once
// Writing of files that are replaced completely or not at all.

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace assay {

/// True for a pipe or a device ("/dev/stdout"), which is written directly: no file may be renamed
/// to it.
bool is_special(const std::filesystem::path& file);

/// The file that is replaced when `file` is written: itself. InputError for a link, because another
/// file would be overwritten; except for "/dev/stdout", which leads to a file that the shell has
/// opened.
std::filesystem::path resolve_output(const std::filesystem::path& file);

/// Writes `parts`, one after the other, to a temporary file in the same folder (which is created if
/// it is missing), syncs it to the disk, renames it to `file`, and syncs the folder. A reader finds
/// the old file or the new one, even after a crash or a power failure. Pipes and devices are
/// written directly. `ending` (".partial"): appended to the name for the temporary file, so that
/// crashes leave at most one such file; by default its name is hidden and specific to the process.
/// InputError if it cannot be written; the old file is then not changed, and the temporary file is
/// removed.
void write_parts(const std::filesystem::path& file, std::span<const std::string_view> parts,
                 const std::string& ending = "");

/// Appends to a file that is being written.
using PieceWriter = std::function<void(std::string_view)>;
/// The same for content that does not fit memory: `fill` is called once and calls PieceWriter for
/// each piece. If it throws, the exception is thrown again, and the old file is not changed.
void write_pieces(const std::filesystem::path& file,
                  const std::function<void(const PieceWriter&)>& fill,
                  const std::string& ending = "");

}  // namespace assay
