#pragma once
// The head of a result ("run"), and of the journal that it is made of (the event "run"): what was
// run, and how. The only writer and the only reader of these fields.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// The settings that `assay run` gives to all processes of a run.
struct RunSettings {
  std::string suite_file, suite_hash;
  std::string programs;                  ///< folder of the benchmarks' executables
  std::vector<std::string> launcher;     ///< words before those of a benchmark
  std::vector<nlohmann::json> shapes{};  ///< of the process groups; empty: one number of ranks
  std::string site{}, system{};          ///< names of --site and of its system; "": none
  std::string filter{};                  ///< only cases whose id or name has a match
  std::vector<std::string> cases{};      ///< ids; only these; empty: all
  std::vector<std::string> baselines{};
  bool ceilings = true;
  double timeout = 0;  ///< of a case, in seconds
};

/// Timing options that every benchmark of a run gets; one that was not given has no value.
struct RunTiming {
  std::optional<double> max_time{}, precision_target{};
  std::optional<std::int64_t> min_samples{};
  std::optional<double> reference_budget{}, burn{};
  nlohmann::json rest = nlohmann::json::object();  ///< a suite's further fields ("timeout")
};
/// Calls use("max_time", timing.max_time, others.max_time...) and so on, with the names of flags
/// and fields.
template <class Timing, class Use, class... Others>
void visit_options(Timing& timing, const Use& use, Others&... others) {
  use("max_time", timing.max_time, others.max_time...);
  use("precision_target", timing.precision_target, others.precision_target...);
  use("min_samples", timing.min_samples, others.min_samples...);
  use("reference_budget", timing.reference_budget, others.reference_budget...);
  use("burn", timing.burn, others.burn...);
}

/// A node that should have rows, but has none.
struct MissingNode {
  std::string host, reason;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MissingNode, host, reason)

struct RunHeader {
  std::string id;
  std::string suite{};                   ///< name; "": none
  std::optional<std::string> command{};  ///< nothing: numbers that Assay did not measure
  std::optional<std::uint64_t> seed{};
  std::optional<std::string> started{}, finished{};  ///< RFC 3339, UTC
  int statistics = 1;  ///< version of the estimators that computed time_s
  std::optional<int> launches{};
  std::string scale{};                               ///< --scale of every case; "": none
  std::string allocator{};                           ///< --allocator of every case; "": none
  RunTiming timing{};                                ///< given to `assay run`, or to the program
  std::optional<RunSettings> settings{};             ///< of `assay run`
  std::map<std::string, std::string> case_hashes{};  ///< by benchmark and shape; of a journal
  std::optional<int> resumed{};                      ///< how often the run was resumed
  std::vector<std::string> left_out{};      ///< ids of the cases that --walltime left no time for
  std::vector<nlohmann::json> brackets{};   ///< the ceilings, measured around the rows ("bracket")
  std::optional<RunTiming> suite_timing{};  ///< "timing" of the suite
  std::optional<std::vector<MissingNode>> missing_nodes{};  ///< of several nodes' results

  /// The timing of the rows: what was given, else the suite's.
  RunTiming whole_timing() const;
  /// Fields that this version does not read: a file of a newer one loses nothing.
  nlohmann::json rest = nlohmann::json::object();
};

/// "timing" of a suite.
void to_json(nlohmann::json& json, const RunTiming& timing);
void from_json(const nlohmann::json& json, RunTiming& timing);
/// "run" of a result; the event "run" without "event" and "environment".
void to_json(nlohmann::json& json, const RunHeader& header);
/// Reads either. json::exception for a field of another type; files are checked before.
void from_json(const nlohmann::json& json, RunHeader& header);

/// The fields that must be equal in a resumed run and in the interrupted one, as to_json() writes
/// them.
nlohmann::json list_counting_settings(const RunHeader& header);

}  // namespace assay
