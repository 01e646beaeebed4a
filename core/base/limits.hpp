#pragma once
// Limits that the system sets to this process.

#include <filesystem>
#include <string>

namespace assay {

/// The limit of this process (ulimit) that explains an error number, with its value: ", `ulimit -f`
/// allows 1024 bytes"; "" for other errors.
std::string limit_behind(int error);
/// An error number in words, with the limit behind it.
std::string words_of_error(int error);

/// From now on, exceeding the limit of file sizes is an error, like a full disk, not a signal that
/// ends the process.
void survive_size_limit();

/// The folder for temporary files: TMPDIR, else /tmp. CaseError, which names TMPDIR, if it cannot
/// be written to.
std::filesystem::path temporary_folder();

}  // namespace assay
