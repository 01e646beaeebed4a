#pragma once
// `assay run`: the cases of a suite, launched in interleaved rounds of separate processes, watched
// to the last row.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run/progress.hpp"
#include "core/measure/case.hpp"

namespace assay {

/// One executable, started in one way, and its cases, in the order of the suite.
struct PlannedBenchmark {
  std::string name;
  std::filesystem::path executable;
  std::vector<Case> cases;
  std::string cases_hash{};  ///< of all that it lists in the suite: each process must find the same
  std::vector<std::string> launcher{};  ///< words before the executable ("mpirun", "-n", "2")
  /// Words between these and the executable that change its environment (LD_PRELOAD).
  std::vector<std::string> preload{};
  std::string shape{};  ///< of its processes ("2x4"), where a run has several

  /// Name among the benchmarks of a run: "collectives", "collectives-2x4".
  std::string place() const { return shape.empty() ? name : name + "-" + shape; }
};

struct CampaignOptions {
  std::filesystem::path suite_file;    ///< absolute: children may run elsewhere
  std::string suite_hash{};            ///< of its content, which each process must find, too
  std::filesystem::path folder;        ///< holds journal.jsonl, plans and logs
  std::vector<std::string> launcher;   ///< of the first shape of processes
  std::vector<std::string> handed_on;  ///< {"--max-time", "2.5", …}: flags for every benchmark
  int launches = 1;
  std::uint64_t seed = 1;
  std::chrono::duration<double> timeout{};
  /// No case runs later; the most informative ones (informative_order) then come first.
  std::optional<std::chrono::steady_clock::time_point> deadline{};
  std::string label;  ///< before the progress of one of several runs
  Talk talk = Talk::normal;
};

/// The words that start a benchmark of the run, without those of one launch.
std::vector<std::string> start_of(const PlannedBenchmark& benchmark,
                                  const CampaignOptions& options);

/// The deadline has come; what is finished stands.
struct OutOfTime {};

/// (launch, id) that have a row already.
using Finished = std::set<std::pair<int, std::string>>;

/// Random order that depends on the recorded seed, the round and the place alone, so that anybody
/// can make it again.
std::vector<std::size_t> random_order(std::size_t count, std::uint64_t seed, int launch, int place);

class Campaign {
 public:
  Campaign(CampaignOptions options, std::vector<PlannedBenchmark> benchmarks, Finished finished);
  /// Runs what has no row yet of one launch. Throws Interrupted, OutOfTime, InputError (a benchmark
  /// refuses its input) and std::system_error (the journal cannot be written); the journal stands
  /// in any case.
  void run_round(int launch);
  /// Whether every case has its row in every launch.
  bool complete() const;
  /// The ids of cases without a row in one of the launches, in the order of the suite.
  std::vector<std::string> left_out() const;

 private:
  struct Attempt;
  void run_informative_round(int launch, const std::vector<std::size_t>& benchmarks);
  void run_benchmark(const PlannedBenchmark& benchmark, int launch,
                     const std::vector<std::size_t>& order);
  /// Writes the plan of an attempt and returns the command that runs it.
  std::vector<std::string> prepare(Attempt& attempt, const std::filesystem::path& journal) const;
  /// One process until it ends or is killed.
  void run_attempt(Attempt& attempt);
  void follow(Attempt& attempt, class JournalFollower& journal);
  std::string waited_for(const Attempt& attempt) const;
  void settle(Attempt& attempt);
  void give_up(const Attempt& attempt) const;
  void tell_of(const std::vector<std::string>& removed);
  void add_row(const Attempt& attempt, const std::string& id, const std::string& status,
               const std::string& reason);
  int next_attempt(const std::string& benchmark, int launch) const;

  CampaignOptions options_;
  std::vector<PlannedBenchmark> benchmarks_;
  Finished finished_;
  std::vector<std::string> rank_hosts_;  ///< of the last process group that told, by rank
  Progress progress_;
};

}  // namespace assay
