#pragma once
// `assay run`: starts the cases of a suite in interleaved rounds of separate processes, and
// monitors these until every case has a row.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/case.hpp"
#include "runner/run/progress.hpp"

namespace assay {

/// One executable, the command that starts it, and its cases in the order of the suite.
struct PlannedBenchmark {
  std::string name;
  std::filesystem::path executable;
  std::vector<Case> cases;
  std::string
      cases_hash{};  ///< of all its cases in the suite; each process must find the same hash
  std::vector<std::string> launcher{};  ///< command prefix ("mpirun", "-n", "2")
  /// Words between the launcher and the executable that change its environment (LD_PRELOAD).
  std::vector<std::string> preload{};
  std::string shape{};              ///< of its process group ("2x4"), if the run has several shapes
  std::set<std::string> plugins{};  ///< plugins that its cases may use

  /// The name of the benchmark within a run: "collectives", "collectives-2x4".
  std::string place() const { return shape.empty() ? name : name + "-" + shape; }
};

/// The value of a setting of a case, or `otherwise` if the case lacks it.
std::string setting(const Case& benchmark_case, const std::string& name,
                    const std::string& otherwise);

struct CampaignOptions {
  std::filesystem::path suite_file;    ///< absolute: children may run elsewhere
  std::string suite_hash{};            ///< of its content; each process must find the same hash
  std::filesystem::path folder;        ///< holds journal.jsonl, plans and logs
  std::vector<std::string> launcher;   ///< of the first shape of processes
  std::set<std::string> opened{};      ///< plugins that the run has been able to open so far
  std::vector<std::string> handed_on;  ///< {"--max-time", "2.5", …}: flags for every benchmark
  int launches = 1;
  std::uint64_t seed = 1;
  std::chrono::duration<double> timeout{};
  /// No case runs after this time. If it is set, the most informative cases (informative_order) run
  /// first.
  std::optional<std::chrono::steady_clock::time_point> deadline{};
  std::filesystem::path journal() const { return folder / "journal.jsonl"; }
  std::string label;  ///< printed before the progress lines, if several runs alternate
  Verbosity talk = Verbosity::normal;
};

/// The command that starts a benchmark of the run, without the flags of a launch (--plan,
/// --journal, --launch, --attempt).
std::vector<std::string> make_start(const PlannedBenchmark& benchmark,
                                    const CampaignOptions& options);

/// Thrown at the deadline. Finished rows are in the journal.
struct OutOfTime {};

/// A benchmark could not write the journal (a full disk, a quota).
class JournalLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The pairs (launch, id) that already have a row.
using FinishedCases = std::set<std::pair<std::int64_t, std::string>>;

/// A random permutation of 0 .. count - 1. It depends only on the recorded seed, the launch and the
/// place (0: benchmarks; i + 1: cases of benchmark i), so it can be reproduced.
std::vector<std::size_t> draw_random_order(std::size_t count, std::uint64_t seed, int launch,
                                           int place);

class Campaign {
 public:
  Campaign(CampaignOptions options, std::vector<PlannedBenchmark> benchmarks,
           FinishedCases finished);
  /// Runs the cases of one launch that have no row yet. Throws Interruption, OutOfTime, InputError
  /// (a benchmark refuses its input), JournalLost and std::system_error (the journal cannot be
  /// written). Rows that are finished stay in the journal.
  void run_round(int launch);
  /// True if every case has its row in every launch.
  bool complete() const;
  /// The ids of the cases that lack a row in some launch, in the order of the suite.
  std::vector<std::string> left_out() const;

 private:
  struct Attempt;
  void run_informative_round(int launch, const std::vector<std::size_t>& benchmarks);
  void run_benchmark(const PlannedBenchmark& benchmark, int launch,
                     const std::vector<std::size_t>& order);
  /// Writes the plan of an attempt and returns the command that runs it.
  std::vector<std::string> prepare(Attempt& attempt) const;
  /// One process until it ends or is killed.
  void run_attempt(Attempt& attempt);
  void wait_for_end(Attempt& attempt, class Child& child, class JournalFollower& journal);
  void follow(Attempt& attempt, class JournalFollower& journal);
  std::string describe_wait(const Attempt& attempt) const;
  void expect_fault_of_a_case(const Attempt& attempt, const std::string& said) const;
  void settle(Attempt& attempt);
  void settle_outside_cases(Attempt& attempt, const std::string& how, const std::string& details,
                            const std::string& quote);
  void give_up(const Attempt& attempt) const;
  void report_removed(const std::vector<std::string>& removed);
  void add_row(const Attempt& attempt, const std::string& id, const std::string& status,
               const std::string& reason);
  int next_attempt(const std::string& benchmark, int launch) const;

  CampaignOptions options_;
  std::vector<PlannedBenchmark> benchmarks_;
  FinishedCases finished_;
  std::vector<std::string> rank_hosts_;  ///< by rank, as the last process group reported them
  Progress progress_;
};

}  // namespace assay
