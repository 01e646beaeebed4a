#pragma once
// The flags that mean the same everywhere. CLI11 is used in options.cpp alone: it costs 10 s a
// translation unit.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/measure/timing.hpp"
#include "core/program/benchmark.hpp"

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
  std::filesystem::path out;  ///< --out FILE
  std::vector<std::string> baselines;
  bool required = false;  ///< --required: unsupported counts as failed
  bool list = false,
       json = false;  ///< --list: print the cases instead of running them; --json: as JSON
  std::uint64_t seed = 1;
  double reference_budget = 2e7;
  TimingOptions timing;
  bool max_time_given = false, precision_target_given = false, min_samples_given = false;
};

/// Parses; on --help or --version prints to stdout and sets `exit` >= 0. Usage errors: InputError
/// with the nearest flag.
RunRequest parse_benchmark_options(const Benchmark& benchmark, int argc, const char* const* argv,
                                   int& exit);

/// One subcommand of `assay` as data, so that analysis/ needs no CLI11.
struct Flag {
  std::string name;  ///< "--out", or "FILE" for a positional argument
  std::string help;
  std::string value;      ///< its name in --help ("DIR"); empty: a switch
  std::string otherwise;  ///< default shown
  bool required = false;
  bool many = false;  ///< takes several values (commas, repeats)
};
struct Command {
  std::string name, help;
  std::vector<Flag> flags;
  /// Given values by flag name without dashes; a switch that is given has one empty value.
  std::function<int(const std::map<std::string, std::vector<std::string>>&)> run;
};
/// The whole of a main() with subcommands: parses, runs, maps errors to exit codes, prints "assay:
/// …" to stderr.
int command_main(const std::string& program, const std::string& description,
                 const std::vector<Command>& commands, int argc, const char* const* argv);

/// Runs `body`; turns an InputError into exit 2 and any other exception into exit 7, with the
/// message on stderr.
int guarded_main(const std::string& program, const std::function<int()>& body);

}  // namespace assay
