#pragma once
// Starts the processes of a run: the launcher, and the shapes of the process groups.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/measure/timing.hpp"
#include "core/program/command.hpp"
#include "runner/launch/launcher.hpp"

namespace assay {

/// A process group of one shape. Each launch of a run starts every benchmark once in each shape.
struct Processes {
  ProcessShape shape;
  std::vector<std::string> words;  ///< command prefix ("mpirun", "-n", "2")
};

/// The processes that the caller requests. They take precedence over those of the suite.
struct ProcessRequest {
  std::optional<std::string> launcher{};  ///< --launcher: a name, a file, or a command
  ProcessShape shape{};                   ///< fields that the caller sets
  /// Several numbers of nodes or of ranks. Each number, or each combination of both, gives a shape.
  std::vector<std::uint64_t> nodes{}, ranks{};
};

/// The shape as suites and results contain it; `hosts` is not included.
void to_json(nlohmann::json& json, const ProcessShape& shape);
void from_json(const nlohmann::json& json, ProcessShape& shape);

/// The shapes of process groups that a suite requests.
struct SuiteShapes {
  std::vector<ProcessShape> shapes{};  ///< empty: the suite has none
  bool several = false;                ///< a list, whatever its length
};
void from_json(const nlohmann::json& json, SuiteShapes& shapes);

/// The settings of a suite for runs of its cases.
struct SuiteSettings {
  struct Timing {
    double max_time = TimingOptions{}.max_time;  ///< seconds
    std::optional<double> timeout{};             ///< of a case, in seconds
  };
  std::string name{}, description{};
  std::optional<int> launches{};
  SuiteShapes launch{};
  std::vector<std::string> baselines{};
  bool ceilings = true;  ///< measure the machine's ceilings around the cases
  Timing timing{};
  double tolerance = 0.1;  ///< of --pairs, as a fraction
};
SuiteSettings suite_settings(const nlohmann::json& suite);

/// One entry for each shape, at least one. A suite contains shapes, but never a command: if the
/// caller names no launcher, mpirun starts the ranks. InputError for a shape that the launcher
/// cannot start.
std::vector<Processes> make_processes(const ProcessRequest& request,
                                      const std::vector<ProcessShape>& suite);
/// The words of a command that --launcher gives.
std::vector<std::string> make_launcher_words(const std::string& text);
/// True if these words contain a number of processes ("-n 2").
bool names_ranks(const std::vector<std::string>& words);

std::vector<Flag> process_flags();
/// The values of these flags. InputError, naming the flag, for an invalid one.
ProcessRequest process_request(const Arguments& arguments);

/// The settings of the suite that the command line names.
SuiteSettings read_suite_settings(const Arguments& arguments);

/// All names in the flags of a run and in its suite. Those that are files are input files of the
/// run.
std::vector<std::string> list_names_in(const Arguments& arguments);

/// Seconds of a time limit in the notation of batch systems: "90", "90:00" and "01:30:00" are
/// ninety minutes. InputError, naming `flag`, for an invalid text or less than `least` seconds.
std::uint64_t clock_time(const std::string& flag, const std::string& text, std::uint64_t least);
/// "01:30:00".
std::string format_clock(std::uint64_t seconds);

}  // namespace assay
