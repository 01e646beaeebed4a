#pragma once
// Parsing of command lines. CLI11 is used in options.cpp alone: it costs 10 s a translation unit.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/measure/timing.hpp"
#include "core/program/benchmark.hpp"
#include "core/program/command.hpp"

namespace assay {

/// What a benchmark's command line asks for.
struct RunRequest {
  std::map<std::string, std::vector<std::string>> chosen;  ///< dimension → values given
  std::string suite;                                       ///< --suite: name or file
  std::string
      plan;  ///< --plan FILE: JSON list of ids, the only cases to run and their order (assay run)
  std::string journal;  ///< --journal FILE: append rows there (assay run)
  /// --suite-hash, --cases-hash: what suite and cases were when the run began (assay run)
  std::string suite_hash, cases_hash;
  int launch = 0, attempt = 0;
  int launches = 1;           ///< --launches: child processes, each with all cases
  std::filesystem::path out;  ///< --out FILE
  std::vector<std::string> baselines;
  /// --all-ranks: every launched process measures at once, also of a benchmark of one process
  bool all_ranks = false;
  bool required = false;  ///< --required: unsupported counts as failed
  bool list = false,
       json = false;  ///< --list: print the cases instead of running them; --json: as JSON
  Talk talk = Talk::normal;
  std::uint64_t seed = 1;
  double reference_budget = 2e7;
  TimingOptions timing;
  bool max_time_given = false, precision_target_given = false, min_samples_given = false;
};

/// What the flag of a dimension is called, without dashes in front.
std::string flag_name(const Dimension& axis);
/// The command line of a benchmark's program: "assay-conv" with all flags.
Command benchmark_command(const Benchmark& benchmark);
/// Parses; on --help or --version prints to stdout and sets `exit` >= 0. Usage errors: InputError
/// with the nearest flag.
RunRequest parse_benchmark_options(const Benchmark& benchmark, int argc, const char* const* argv,
                                   int& exit);

/// Parses the command line of a program without subcommands. Nothing if --help, --version or
/// --help-as was given, which is then printed to stdout, with `exit` its exit code.
std::optional<Given> parse_command(const Command& program, int argc, const char* const* argv,
                                   int& exit);

/// The whole of a main() with subcommands (and `help`): parses, runs, maps errors to exit codes,
/// prints "assay: …" to stderr.
int command_main(const Command& program, const std::vector<Command>& commands, int argc,
                 const char* const* argv);

/// Runs `body`; turns an InputError into exit 2 and any other exception into exit 7, with the
/// message on stderr.
int guarded_main(const std::string& program, const std::function<int()>& body);

}  // namespace assay
