#pragma once
// Files that are there as a whole or not at all.

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace assay {

/// Writes `parts`, one after the other, to a file beside `file`, syncs it to the disk, renames it
/// and syncs the folder, which is made where it is missing. So a reader finds the old file or the
/// new one, whenever the process or the power fails. A pipe or a device is written as it is.
/// `ending` (".partial") is what the name has while it is written, where a process that dies is to
/// leave one file at most; without it the name is hidden and of this process.
/// InputError: an unwritable place, a full disk; the old file then stands, and no other is left.
void write_parts(const std::filesystem::path& file, std::span<const std::string_view> parts,
                 const std::string& ending = "");

/// Appends to a file that is being written.
using Put = std::function<void(std::string_view)>;
/// The same for what is not in memory at once: `fill` is called once and puts piece after piece.
/// What it throws is thrown again; the old file then stands, too.
void write_pieces(const std::filesystem::path& file, const std::function<void(const Put&)>& fill,
                  const std::string& ending = "");

}  // namespace assay
