#pragma once
// Reading of whole files. Only regular files up to a stated size are read: a pipe may never get a
// writer, a device may never end, and some files are read more than once.

#include <cstdint>
#include <filesystem>
#include <string>

namespace assay {

/// Most bytes of a file that is read as a whole. Results of a thousand nodes have a tenth of it.
inline constexpr std::uint64_t largest_text = std::uint64_t{4} << 30;
/// The same for what people write: templates, lists of nodes, shell commands.
inline constexpr std::uint64_t largest_hand_written = std::uint64_t{64} << 20;

/// "a pipe", "a device", …: why a file is not read; "" for a regular file, and for one that does
/// not exist.
std::string kind_that_is_not_read(const std::filesystem::path& file);

/// The content of a regular file. InputError "FILE: cannot be read (WHY). SUGGESTION" for all else
/// and for a file of more than `most` bytes. It never blocks, even if the file is replaced
/// meanwhile.
std::string read_text_file(const std::filesystem::path& file, std::uint64_t most = largest_text);

}  // namespace assay
