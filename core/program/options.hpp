#pragma once
// Parsing of command lines. Only options.cpp includes CLI11, which adds 10 s of compilation to each
// translation unit.

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

/// The content of a benchmark's command line. Flags marked "assay run" are set by `assay run`.
struct RunRequest {
  std::map<std::string, std::vector<std::string>> chosen;  ///< given values by dimension
  std::string suite;                                       ///< --suite: name or file
  /// --plan FILE (assay run): a JSON list of ids; only these cases are run, in this order.
  std::string plan;
  std::string journal;  ///< --journal FILE (assay run): rows are appended to it
  /// --suite-hash, --cases-hash (assay run): hashes of suite and cases when the run began.
  std::string suite_hash, cases_hash;
  /// --opened (assay run): plugins that could be opened when the run was planned, or since then.
  std::vector<std::string> opened;
  int launch = 0, attempt = 0;
  int launches = 1;           ///< --launches: number of child processes, each with all cases
  std::filesystem::path out;  ///< --out FILE
  std::vector<std::string> baselines;
  /// --all-ranks: all launched processes measure at the same time, even if the benchmark uses one.
  bool all_ranks = false;
  bool required = false;  ///< --required: unsupported counts as failed
  bool list = false;      ///< --list: print the cases instead of running them
  bool json = false;      ///< --json: print them as JSON
  /// --benchmark_list_tests: print their ids alone, as Google Benchmark prints names.
  bool ids_alone = false;
  std::string filter;                   ///< --benchmark_filter: only the cases that match
  bool google_benchmark = false;        ///< --format google-benchmark: prints rows as its JSON
  std::filesystem::path benchmark_out;  ///< --benchmark_out FILE: writes such JSON
  Verbosity talk = Verbosity::normal;
  std::uint64_t seed = 1;
  double reference_budget = 2e7;
  TimingOptions timing;
  bool max_time_given = false, precision_target_given = false, min_samples_given = false;
};

/// Help of a flag that the benchmarks and `assay run` share.
inline constexpr const char* burn_help =
    "after the samples run each case for S seconds more on inputs that repeat, and compare all "
    "outputs of every run with those of the first, verified one, bit by bit";

/// The name of a dimension's flag, without the leading dashes.
std::string format_flag_name(const Dimension& axis);
/// The command line of a benchmark's program ("assay-conv") with all flags.
Command benchmark_command(const Benchmark& benchmark);
/// Parses a benchmark's command line. On --help or --version, prints to stdout and sets `exit` to
/// the exit code (>= 0). InputError with the nearest flag for invalid usage.
RunRequest parse_benchmark_options(const Benchmark& benchmark, int argc, const char* const* argv,
                                   int& exit);

/// Parses the command line of a program without subcommands. On --help, --version or --help-as,
/// prints to stdout, sets `exit` to the exit code, and returns nothing.
std::optional<Arguments> parse_command(const Command& program, int argc, const char* const* argv,
                                       int& exit);

/// The main() of a program with subcommands, of which `help` is one: parses, runs the subcommand,
/// prints errors ("assay: …") to stderr. Returns the exit code.
int command_main(const Command& program, const std::vector<Command>& commands, int argc,
                 const char* const* argv);

/// Runs `body` and returns its exit code; of an InputError 2, of any other exception 7, with the
/// message on stderr.
int run_guarded(const std::string& program, const std::function<int()>& body);

}  // namespace assay
