#include "runner/run/campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "core/api/random.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/result/journal.hpp"
#include "core/result/result.hpp"
#include "core/result/schema.hpp"
#include "runner/run/benchmark_processes.hpp"
#include "runner/run/informative.hpp"
#include "runner/run/run_record.hpp"
#include "runner/supervision/child.hpp"
#include "runner/supervision/lost_ranks.hpp"
#include "runner/supervision/process_table.hpp"
#include "runner/supervision/run_folder.hpp"

namespace assay {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// The state of one process.
struct Campaign::Attempt {
  const PlannedBenchmark& benchmark;
  int launch = 0, number = 0;
  std::vector<std::string> remaining{};  ///< ids without a row, in the order of the plan
  int deaths = 0;      ///< successive attempts that died outside any case, before this one
  std::string open{};  ///< id of the case that was begun and has no row
  bool began = false;  ///< it has begun a case
  bool timed_out = false;
  std::size_t rows = 0;                  ///< rows that it wrote itself before it was ended
  std::string describe_wait{};           ///< ranks that had been stopped when the time was over
  std::vector<std::string> processes{};  ///< process ids by rank, once they are reported
  std::string silent{};                  ///< ranks that did not report how they ended
  std::string said{};                    ///< output on stderr since its open case began
  ProcessEnd ended{};
  std::filesystem::path out{}, err{};
};

namespace {

const Case& find_case(const PlannedBenchmark& benchmark, const std::string& id) {
  return *std::find_if(benchmark.cases.begin(), benchmark.cases.end(),
                       [&](const Case& benchmark_case) { return benchmark_case.id == id; });
}

std::string both(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

}  // namespace

std::string setting(const Case& benchmark_case, const std::string& name,
                    const std::string& otherwise) {
  const auto value = benchmark_case.settings.find(name);
  return value == benchmark_case.settings.end() ? otherwise : value->second;
}

std::vector<std::string> make_start(const PlannedBenchmark& benchmark,
                                    const CampaignOptions& options) {
  std::vector<std::string> command = benchmark.launcher;
  command.insert(command.end(), benchmark.preload.begin(), benchmark.preload.end());
  command.insert(command.end(),
                 {benchmark.executable.string(), "--suite", options.suite_file.string(), "--seed",
                  std::to_string(options.seed)});
  command.insert(command.end(), options.handed_on.begin(), options.handed_on.end());
  return command;
}

std::vector<std::size_t> draw_random_order(std::size_t count, std::uint64_t seed, int launch,
                                           int place) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Distinct keys for distinct (launch, place). The generator of shuffle is counter based, so that
  // similar keys give unrelated orders.
  shuffle(order, seed * 1'000'003 + static_cast<std::uint64_t>(launch) * 1'009 +
                     static_cast<std::uint64_t>(place));
  return order;
}

Campaign::Campaign(CampaignOptions options, std::vector<PlannedBenchmark> benchmarks,
                   FinishedCases finished)
    : options_(std::move(options)),
      benchmarks_(std::move(benchmarks)),
      finished_(std::move(finished)),
      progress_([this] {
        int done = 0, total = 0;
        for (const PlannedBenchmark& benchmark : benchmarks_)
          for (const Case& benchmark_case : benchmark.cases)
            for (int launch = 0; launch < options_.launches; ++launch, ++total)
              done += finished_.contains({launch, benchmark_case.id}) ? 1 : 0;
        return Progress(done, total, options_.label, options_.talk);
      }()) {}

// The order is in rounds, not in blocks, so that drifts (temperature, neighbours on a shared
// machine) affect every case alike.
void Campaign::run_round(int launch) {
  const auto order = draw_random_order(benchmarks_.size(), options_.seed, launch, 0);
  if (options_.deadline) return run_informative_round(launch, order);
  for (const std::size_t index : order) {
    const PlannedBenchmark& benchmark = benchmarks_[index];
    run_benchmark(benchmark, launch,
                  draw_random_order(benchmark.cases.size(), options_.seed, launch,
                                    static_cast<int>(index) + 1));
  }
}

/// Runs a quarter of the cases of each benchmark before the rest of any, so that the first
/// benchmark does not take all the time.
void Campaign::run_informative_round(int launch, const std::vector<std::size_t>& benchmarks) {
  for (const bool first : {true, false})
    for (const std::size_t index : benchmarks) {
      const PlannedBenchmark& benchmark = benchmarks_[index];
      std::vector<std::size_t> order = informative_order(benchmark.cases);
      const auto quarter = static_cast<std::ptrdiff_t>((order.size() + 3) / 4);
      if (first)
        order.erase(order.begin() + quarter, order.end());
      else
        order.erase(order.begin(), order.begin() + quarter);
      run_benchmark(benchmark, launch, order);
    }
}

bool Campaign::complete() const { return left_out().empty(); }

std::vector<std::string> Campaign::left_out() const {
  std::vector<std::string> ids;
  for (const PlannedBenchmark& benchmark : benchmarks_)
    for (const Case& benchmark_case : benchmark.cases)
      for (int launch = 0; launch < options_.launches; ++launch)
        if (!finished_.contains({launch, benchmark_case.id})) {
          ids.push_back(benchmark_case.id);
          break;
        }
  return ids;
}

int Campaign::next_attempt(const std::string& benchmark, int launch) const {
  // A plan is written before each start, so the number of plans includes even processes that died
  // too early to leave a trace.
  int attempt = 0;
  while (
      fs::exists(options_.folder / fmt::format("plan-{}-{}-{}.json", launch, attempt, benchmark)))
    ++attempt;
  return attempt;
}

void Campaign::run_benchmark(const PlannedBenchmark& benchmark, int launch,
                             const std::vector<std::size_t>& order) {
  std::vector<std::string> remaining;
  for (const std::size_t i : order)
    if (!finished_.contains({launch, benchmark.cases[i].id}))
      remaining.push_back(benchmark.cases[i].id);
  for (int deaths = 0; !remaining.empty();) {
    Attempt attempt{.benchmark = benchmark,
                    .launch = launch,
                    .number = next_attempt(benchmark.name, launch),
                    .remaining = std::move(remaining),
                    .deaths = deaths};
    run_attempt(attempt);
    remaining = std::move(attempt.remaining);
    deaths = attempt.deaths;
  }
}

std::vector<std::string> Campaign::prepare(Attempt& attempt) const {
  const std::string name =
      fmt::format("{}-{}-{}", attempt.launch, attempt.number, attempt.benchmark.name);
  const fs::path plan = options_.folder / ("plan-" + name + ".json");
  write_json(plan, attempt.remaining);
  attempt.out = options_.folder / "log" / (name + ".out.txt");
  attempt.err = options_.folder / "log" / (name + ".err.txt");
  std::vector<std::string> command = make_start(attempt.benchmark, options_);
  command.insert(command.end(),
                 {"--plan", plan.string(), "--journal", options_.journal().string(), "--launch",
                  std::to_string(attempt.launch), "--attempt", std::to_string(attempt.number)});
  std::vector<std::string> opened;
  std::set_intersection(attempt.benchmark.plugins.begin(), attempt.benchmark.plugins.end(),
                        options_.opened.begin(), options_.opened.end(), std::back_inserter(opened));
  if (!opened.empty()) command.insert(command.end(), {"--opened", join(opened, ",")});
  command.insert(command.end(), {"--suite-hash", options_.suite_hash, "--cases-hash",
                                 attempt.benchmark.cases_hash});
  return command;
}

void Campaign::run_attempt(Attempt& attempt) {
  const std::vector<std::string> command = prepare(attempt);
  progress_.detail("starts " + join(command, " "));

  // SIGTERM is sent before SIGKILL, because only a launcher can end its ranks on other nodes, and a
  // benchmark removes its temporary files.
  constexpr std::chrono::milliseconds grace(3000);
  JournalFollower journal(options_.journal());
  LeftSegments segments;
  Child child(command, attempt.out, attempt.err);
  const auto kill = [&] {
    segments.look();
    attempt.ended = child.kill(grace);
    report_removed(segments.remove());
  };
  const auto abandon = [&] {
    follow(attempt, journal);
    kill();
    give_up(attempt);  // rows count only until the process is being ended
  };
  try {
    wait_for_end(attempt, child, journal);
  } catch (const Interruption&) {
    abandon();
    throw;
  } catch (const OutOfTime&) {
    abandon();
    throw;
  }
  if (attempt.timed_out) {
    // A launcher that ends its ranks resumes those that had been stopped. Output and rows of the
    // launcher and its ranks from now on do not count. Nothing is written before they are dead,
    // because a stopped rank may hold the journal's lock.
    attempt.said = read_tail(attempt.err);
    kill();
  } else {
    attempt.ended = child.kill(std::chrono::milliseconds(0));  // and the processes that it left
                                                               // behind
    attempt.said = read_tail(attempt.err);
  }
  attempt.silent = list_silent_ranks(attempt.err, attempt.processes, rank_hosts_);
  settle(attempt);
}

/// Returns when the child has ended or, with `timed_out` set, when it has made no progress for too
/// long: it has neither begun a case nor written a row.
void Campaign::wait_for_end(Attempt& attempt, Child& child, JournalFollower& journal) {
  auto since = Clock::now();
  std::pair state{attempt.open, attempt.remaining.size()};
  const auto has_progressed = [&] {
    follow(attempt, journal);
    std::pair now{attempt.open, attempt.remaining.size()};
    if (now == state) return false;
    state = std::move(now);
    since = Clock::now();
    return true;
  };
  for (;;) {
    if (const int number = wait_for_signal(std::chrono::milliseconds(100)))
      throw Interruption{number};
    const auto ended = child.poll();
    has_progressed();  // after poll, because an ended child has written everything
    if (ended) return;
    if (options_.deadline && Clock::now() > *options_.deadline) throw OutOfTime{};
    if (Clock::now() - since <= options_.timeout) continue;
    attempt.describe_wait = describe_wait(attempt);
    // Asking other hosts takes a while, and the child may continue meanwhile.
    if (has_progressed()) continue;
    attempt.timed_out = true;
    return;
  }
}

void Campaign::follow(Attempt& attempt, JournalFollower& journal) {
  for (const RunEvent event : journal.poll()) {
    // A process that was abandoned may still exist, on a host that no signal has reached.
    if ((event.row ? event.row->attempt : event.attempt.value_or(-1)) != attempt.number) continue;
    if (event.kind == "launch") {
      const ResultEnvironment environment = event.environment;
      if (!environment.rank_hosts.empty()) rank_hosts_ = environment.rank_hosts;
      attempt.processes = event.rank_processes;
      options_.opened.merge(list_opened_plugins(environment));
    } else if (event.kind == "begin") {
      attempt.open = event.id;
      attempt.began = true;
    } else if (event.row) {
      if (std::erase(attempt.remaining, event.row->id) == 0) continue;
      ++attempt.rows;
      finished_.insert({attempt.launch, event.row->id});
      attempt.open.clear();
      progress_.row(*event.row);
    }
  }
}

/// Reports the files that MPI's libraries could not remove, because they were killed.
void Campaign::report_removed(const std::vector<std::string>& removed) {
  if (!removed.empty())
    progress_.note("removed from /dev/shm what the killed job left there: " + join(removed, ", "));
}

/// The processes for which a stuck job waits. Call it before the job is killed.
std::string Campaign::describe_wait(const Attempt& attempt) const {
  std::vector<StoppedProcess> stopped = find_stopped_here();
  std::string unknown;
  if (std::set(rank_hosts_.begin(), rank_hosts_.end()).size() > 1)
    for (const StoppedProcess& process : find_stopped_anywhere(
             attempt.benchmark.launcher, attempt.benchmark.executable.parent_path() / "assay",
             options_.journal().string(), options_.folder / "log" / "stopped", rank_hosts_,
             unknown))
      stopped.push_back(process);
  return both(to_text(std::move(stopped), rank_hosts_), unknown);
}

/// Throws if no case caused the end of the process, but a full disk or refused input.
void Campaign::expect_fault_of_a_case(const Attempt& attempt, const std::string& said) const {
  if (attempt.ended.signalled || attempt.timed_out) return;
  // With a full disk a process cannot finish any case.
  probe_disk(options_.folder);
  if (said.find("journal.jsonl: ") != std::string::npos ||
      said.find("the journal") != std::string::npos)
    throw JournalLost(said);
  if (!attempt.began && attempt.ended.code == static_cast<int>(ExitCode::usage))
    throw InputError(fmt::format("assay-{} refuses its input: {}", attempt.benchmark.name, said));
}

/// Decides which case caused the end of the process, and writes its row.
void Campaign::settle(Attempt& attempt) {
  if (attempt.remaining.empty()) {
    if (attempt.ended.signalled || attempt.timed_out)
      progress_.note(fmt::format("assay-{} {} after its last row; its rows are kept.",
                                 attempt.benchmark.name,
                                 attempt.timed_out ? "did not end" : attempt.ended.text()));
    return;
  }
  if (attempt.timed_out) give_up(attempt);
  std::string said = attempt.said;
  // MPICH's launcher reports on stdout which rank died and where. If no rank died, stdout contains
  // rows.
  if (said.empty() && !attempt.benchmark.launcher.empty() && !attempt.timed_out)
    said = read_tail(attempt.out);
  expect_fault_of_a_case(attempt, said);
  const std::string quote = said.empty() ? "" : fmt::format(". It said: {}", said);
  std::string who = both(attempt.describe_wait, attempt.silent);
  if (!who.empty()) who = ": " + who;
  const std::string limit = fmt::format("{:.6g} s", options_.timeout.count());
  if (attempt.open.empty()) {
    const std::string how =
        attempt.timed_out ? fmt::format("did nothing for {}", limit) : attempt.ended.text();
    return settle_outside_cases(attempt, how, who + quote, quote);
  }
  attempt.deaths = 0;
  if (attempt.timed_out)
    add_row(attempt, attempt.open, "timeout",
            fmt::format("killed after {} without a result{}{}", limit,
                        who.empty() ? " (raise --timeout if it needs longer)" : who, quote));
  else
    add_row(attempt, attempt.open, "failed", attempt.ended.text() + " in this case" + who + quote);
  std::erase(attempt.remaining, attempt.open);
}

/// One failure may be chance (a node's hiccup), so there is a second try.
void Campaign::settle_outside_cases(Attempt& attempt, const std::string& how,
                                    const std::string& details, const std::string& quote) {
  attempt.deaths = attempt.began ? 1 : attempt.deaths + 1;
  progress_.note(
      fmt::format("assay-{} {} before its next case{}", attempt.benchmark.name, how, quote));
  if (attempt.deaths < 2) return;
  const std::vector<std::string> lost = std::move(attempt.remaining);
  attempt.remaining.clear();
  for (const std::string& id : lost)
    add_row(
        attempt, id, attempt.timed_out ? "timeout" : "failed",
        fmt::format("assay-{} {} before this case, twice{}", attempt.benchmark.name, how, details));
}

/// Records which rows of a process count: those that it had written when its time was over.
void Campaign::give_up(const Attempt& attempt) const {
  Journal(options_.journal())
      .append(make_abandoned_event({attempt.benchmark.name, attempt.launch, attempt.number},
                                   attempt.rows));
}

void Campaign::add_row(const Attempt& attempt, const std::string& id, const std::string& status,
                       const std::string& reason) {
  const Case& benchmark_case = find_case(attempt.benchmark, id);
  Outcome outcome;
  outcome.status = status;
  outcome.reason = reason;
  const Row row =
      make_row(attempt.benchmark.name, benchmark_case, nullptr, outcome, 0, attempt.launch,
               attempt.number, std::stoi(setting(benchmark_case, "ranks", "1")),
               std::stoi(setting(benchmark_case, "nodes", "1")));
  // The journal is opened anew each time, because opening ends a line that the dead process left
  // incomplete.
  Journal(options_.journal()).append(row_event(row));
  finished_.insert({attempt.launch, id});
  progress_.row(row);
}

}  // namespace assay
