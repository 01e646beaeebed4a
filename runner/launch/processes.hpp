#pragma once
// How the processes of a run are started: the launcher, and the shapes of the process groups.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runner/launch/launcher.hpp"

namespace assay {

/// A process group of one shape. Every benchmark of a run is started in each shape once per launch.
struct Processes {
  ProcessShape shape;
  std::vector<std::string> words;  ///< command prefix ("mpirun", "-n", "2")
};

/// The processes that the caller requests. They take precedence over those of the suite.
struct ProcessRequest {
  std::optional<std::string> launcher{};  ///< --launcher: a name, a file, or a command
  ProcessShape shape{};                   ///< fields that the caller sets
  /// Several numbers of nodes or of ranks: each (of both: each with each) is a shape of its own.
  std::vector<std::uint64_t> nodes{}, ranks{};
};

/// The shapes of a suite's "launch"; empty if the suite has none.
std::vector<ProcessShape> shapes_of(const nlohmann::json& launch);
nlohmann::json shape_document(const ProcessShape& shape);

/// One entry for each shape, at least one. A suite contains shapes, never a command: if the caller
/// names no launcher, several ranks are started by mpirun. InputError for a shape that the launcher
/// cannot start.
std::vector<Processes> processes_of(const ProcessRequest& request,
                                    const std::vector<ProcessShape>& suite);
/// The words of a command given by --launcher.
std::vector<std::string> launcher_words(const std::string& text);
/// Whether these words contain a number of processes ("-n 2").
bool names_ranks(const std::vector<std::string>& words);

}  // namespace assay
