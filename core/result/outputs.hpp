#pragma once
// Checks of the files that a command is going to write.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// InputError if `output`, the value of `flag`, cannot be written (check_writable) or is one of
/// `inputs`, also under another name or through a link, or part of the record of a run. An input is
/// a file, a folder with results, or the name of a shipped baseline. Call it before anything is
/// read or timed, so that a refused command changes nothing.
void check_output(const std::string& flag, const std::filesystem::path& output,
                  const std::vector<std::string>& inputs);

/// The same, but the output may be part of the record of a run that is continued.
void check_no_input(const std::string& flag, const std::filesystem::path& output,
                    const std::vector<std::string>& inputs);

/// InputError if `output` is one of the files that values of flags name: files, patterns, and
/// folders of data (whose result files are not data). Values that name nothing existing are
/// ignored.
void check_output_beside_data(const std::string& flag, const std::filesystem::path& output,
                              const std::vector<std::string>& values);

/// InputError if a run in `folder` would overwrite one of `inputs` (only files are checked) by its
/// own files, like ceilings.json or log/..., or would write through a link.
void check_run_folder(const std::filesystem::path& folder, const std::vector<std::string>& inputs);

/// InputError if two of the outputs (pairs of a flag and its file) are the same file.
void check_outputs_differ(
    const std::vector<std::pair<std::string, std::filesystem::path>>& outputs);

}  // namespace assay
