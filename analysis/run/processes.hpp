#pragma once
// How the processes of a run are started: the launcher, and the shapes that it is asked for.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/launch/launcher.hpp"

namespace assay {

/// Processes of one shape: every benchmark of a run is started so once per launch.
struct Processes {
  ProcessShape shape;
  std::vector<std::string> words;  ///< before the executable ("mpirun", "-n", "2")
};

/// What a caller says of processes: it stands before what a suite says.
struct ProcessRequest {
  std::optional<std::string> launcher{};  ///< --launcher: a name, a file, or words
  ProcessShape shape{};                   ///< fields that the caller sets
  std::vector<std::uint64_t> ranks{};     ///< several numbers of ranks, a shape for each
};

/// The shapes of a suite's "launch"; empty where it has none.
std::vector<ProcessShape> shapes_of(const nlohmann::json& launch);
nlohmann::json shape_document(const ProcessShape& shape);

/// One entry for each shape, at least one. A suite names shapes, never a command: where the caller
/// names no launcher, several ranks are started by mpirun. InputError for a shape that the launcher
/// cannot be asked for.
std::vector<Processes> processes_of(const ProcessRequest& request,
                                    const std::vector<ProcessShape>& suite);
/// The words of --launcher.
std::vector<std::string> launcher_words(const std::string& text);
/// Whether these words give a number of processes.
bool names_ranks(const std::vector<std::string>& words);

}  // namespace assay
