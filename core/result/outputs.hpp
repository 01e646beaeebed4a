#pragma once
// Files that a command may write.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// InputError unless `output`, given as `flag`, can be written (check_writable) and is none of
/// `inputs`, under whatever name: a file, a folder with results below it, or the name of a shipped
/// baseline. Asked before anything is read or timed, so that a refused command has touched nothing.
void check_output(const std::string& flag, const std::filesystem::path& output,
                  const std::vector<std::string>& inputs);

/// InputError if two outputs, each a flag and its file, are one file.
void check_outputs_differ(
    const std::vector<std::pair<std::string, std::filesystem::path>>& outputs);

}  // namespace assay
