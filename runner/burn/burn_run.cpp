#include "runner/burn/burn_run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <iostream>
#include <list>
#include <map>
#include <set>

#include "analysis/burn_summary.hpp"
#include "analysis/text_table.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/program/given.hpp"
#include "core/program/suite.hpp"
#include "core/result/result.hpp"
#include "runner/ensemble/slots.hpp"
#include "runner/launch/programs.hpp"
#include "runner/nodes/many_runs.hpp"
#include "runner/run/result_file.hpp"
#include "runner/run/run_plan.hpp"
#include "runner/supervision/child.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// Seconds of one case before the next case starts. An interruption loses at most these.
constexpr double seconds_of_turn = 60;
/// The samples before the burn-in of each turn serve only the row's times.
constexpr const char* max_time = "0.5";
/// Seconds that a case may take beyond its turn, without --timeout.
constexpr double usual_timeout = 60;
/// Seconds that a member may take beside its cases.
constexpr double seconds_of_start = 30;

/// "90", "90s", "30m" or "8h" in seconds.
double duration(const std::string& flag, const std::string& text) {
  const char unit = text.empty() ? ' ' : text.back();
  const double factor = unit == 'h' ? 3600 : unit == 'm' ? 60 : 1;
  const bool named = unit == 'h' || unit == 'm' || unit == 's';
  return factor * seconds_number(flag, named ? text.substr(0, text.size() - 1) : text);
}

/// SUITE, or the suite `burn` with these benchmarks alone.
struct BurnRequest {
  std::string suite;
  std::set<std::string> kinds{};  ///< benchmarks; empty: all
};

BurnRequest parse_request(const Arguments& arguments) {
  const std::string text = *read_value(arguments, "SUITE");
  const std::vector<std::string> names = list_suite_names();
  if (fs::exists(text) || std::ranges::find(names, text) != names.end()) return {text};
  BurnRequest request{"burn"};
  const std::vector<std::string> known = suite_benchmarks(read_suite(find_suite(request.suite)));
  for (const std::string& kind : split(text, ',')) {
    if (std::ranges::find(known, kind) == known.end()) {
      std::vector<std::string> all = known;
      all.insert(all.end(), names.begin(), names.end());
      throw InputError(explain_unknown_name("SUITE or kind", kind, all));
    }
    request.kinds.insert(kind);
  }
  return request;
}

/// The benchmarks whose cases one process measures, and those with several ranks.
struct Kinds {
  std::vector<std::string> alone{}, together{};
  std::size_t cases_alone = 0, cases_together = 0;
};

Kinds list_kinds(const BurnRequest& request) {
  prepare_parent();
  const Temporary scratch = make_scratch_folder();
  RunPlan plan = plan_of_suite(request.suite);
  set_timing(plan, std::nullopt);
  plan.campaign.folder = scratch.path();
  fs::create_directories(scratch.path() / "log");
  Kinds kinds;
  for (const PlannedBenchmark& benchmark : plan_benchmarks(plan)) {
    if (!request.kinds.empty() && !request.kinds.contains(benchmark.name)) continue;
    const bool ranks = benchmark.name == "collectives";
    (ranks ? kinds.together : kinds.alone).push_back(benchmark.name);
    (ranks ? kinds.cases_together : kinds.cases_alone) += benchmark.cases.size();
  }
  return kinds;
}

/// "^(conv|gemm)/".
std::string make_filter(const std::vector<std::string>& benchmarks) {
  return "^(" + join(benchmarks, "|") + ")/";
}

/// The division of the time: each case has several turns, so that all kinds alternate.
struct Turns {
  int passes = 1;
  double seconds = 0;  ///< of a case in each pass
};
Turns plan_turns(double seconds, std::size_t cases) {
  const double each = seconds / static_cast<double>(std::max<std::size_t>(cases, 1));
  const double passes = std::max(1.0, std::round(each / seconds_of_turn));
  return {static_cast<int>(passes), each / passes};
}

class BurnRun {
 public:
  explicit BurnRun(const Arguments& arguments)
      : arguments_(arguments),
        seconds_(duration("--for", *read_value(arguments, "for"))),
        threads_(static_cast<int>(read_whole_number(arguments, "threads", 1, 1 << 20).value_or(1))),
        gpus_(static_cast<int>(read_whole_number(arguments, "gpus", 1, 1024).value_or(0))),
        request_(parse_request(arguments)),
        kinds_(list_kinds(request_)),
        folder_(folder_of_many(arguments, "assay burn")),
        started_(format_utc_now()) {}

  int run() {
    if (fs::exists(folder_ / "members") && !arguments_.contains("resume"))
      throw InputError(fmt::format(
          "{} already holds a burn-in. Continue it with --resume, or choose another --out.",
          folder_.string()));
    fs::create_directories(folder_ / "members");
    const std::size_t cases = kinds_.cases_alone + kinds_.cases_together;
    const bool jobs = arguments_.contains("launcher") && kinds_.cases_together > 0;
    const double part =
        jobs ? static_cast<double>(kinds_.cases_alone) / static_cast<double>(cases) : 1;
    try {
      if (kinds_.cases_alone > 0) burn_slots(part * seconds_);
      if (jobs) burn_ranks((1 - part) * seconds_);
    } catch (const Interruption& signal) {
      stopped_ = fmt::format("stopped by {}: what was burnt until then is in the result",
                             strsignal(signal.signal));
    }
    if (!jobs && kinds_.cases_together > 0)
      say("left out: cases of several ranks, which need --launcher: " +
          join(kinds_.together, ", "));
    return finish();
  }

 private:
  struct Member {
    Member(std::string called, Slot place, const std::vector<std::string>& command,
           const fs::path& log)
        : name(std::move(called)),
          slot(std::move(place)),
          child(command, log / (name + ".out.txt"), log / (name + ".err.txt")) {}
    std::string name;
    Slot slot;
    Child child;
  };

  void say(const std::string& text) const {
    if (read_verbosity(arguments_) != Verbosity::quiet)
      std::cerr << "assay burn: " << text << std::endl;
  }

  /// `assay run` of some benchmarks in a separate folder.
  std::vector<std::string> words(const std::string& name,
                                 const std::vector<std::string>& benchmarks, const Turns& turns,
                                 std::size_t number) {
    turn_s_ = turns.seconds;
    Arguments own;
    own["SUITE"] = {request_.suite};
    own["out"] = {(folder_ / "members" / name).string()};
    own["filter"] = {make_filter(benchmarks)};
    own["burn"] = {fmt::format("{}", turns.seconds)};
    own["launches"] = {std::to_string(turns.passes)};
    own["max-time"] = {max_time};
    // Different seeds give different orders of the kinds, so that the cores do not all do the same
    // work at once.
    own["seed"] = {
        std::to_string(read_whole_number(arguments_, "seed", 0, UINT64_MAX).value_or(1) + number)};
    own["resume"] = own["no-ceilings"] = own["quiet"] = {""};
    if (const auto more = read_seconds(arguments_, "timeout"))
      own["timeout"] = {fmt::format("{}", turns.seconds + *more)};
    if (arguments_.contains("allow-mixed")) own["allow-mixed"] = {""};
    return words_of_run(own, {});
  }

  void burn_slots(double seconds) {
    const Temporary scratch = make_scratch_folder();
    std::vector<Slot> slots = make_slots(arguments_, threads_, scratch.path(), "assay burn");
    if (gpus_ > 0) keep_slots_of_gpus(slots);
    const Turns turns = plan_turns(seconds, kinds_.cases_alone);
    say(fmt::format("{} on {} of {}{}, {} of {:.3g} s each, into {}",
                    format_count(kinds_.cases_alone, "case"),
                    format_count(slots.size(), "process", "es"),
                    format_count(static_cast<std::size_t>(threads_), "core"),
                    gpus_ > 0 ? fmt::format(" (of each node {}, with a GPU each)", gpus_) : "",
                    format_count(static_cast<std::size_t>(turns.passes), "turn"), turns.seconds,
                    folder_.string()));
    std::list<Member> members;
    for (const Slot& slot : slots) {
      slots_of_node_ = std::max(slots_of_node_, slot.number + 1);
      const std::string name = fmt::format("{}-{:03}", slot.host, slot.number);
      std::vector<std::string> command = slot.launcher;
      for (std::string& word : words(name, kinds_.alone, turns, members.size()))
        command.push_back(std::move(word));
      command.insert(command.end(), {"--as-member", fmt::format("{}/{}{}", slot.number, threads_,
                                                                gpus_ > 0 ? "/gpu" : "")});
      members.emplace_back(name, slot, command, folder_ / "log");
      names_.push_back({name, slot.host});
    }
    wait_for(members, kinds_.cases_alone, turns);
  }

  /// InputError if a host has fewer slots than GPUs, because the other GPUs would be left out
  /// unnoticed.
  void keep_slots_of_gpus(std::vector<Slot>& slots) const {
    std::map<std::string, int> counts;
    for (const Slot& slot : slots) ++counts[slot.host];
    for (const auto& [host, count] : counts)
      if (count < gpus_)
        throw InputError(fmt::format(
            "--gpus {}: {} has processors for {} only (--threads {}). Use fewer threads.", gpus_,
            host, format_count(static_cast<std::size_t>(count), "process", "es"), threads_));
    std::erase_if(slots, [&](const Slot& slot) { return slot.number >= gpus_; });
  }

  void burn_ranks(double seconds) {
    const Turns turns = plan_turns(seconds, kinds_.cases_together);
    std::vector<std::string> command = words("ranks", kinds_.together, turns, 0);
    for (const char* flag : {"launcher", "nodes"})
      for (const std::string& value : read_values(arguments_, flag))
        command.insert(command.end(), {std::string("--") + flag, value});
    const std::uint64_t ranks = read_whole_number(arguments_, "ranks-per-node", 1, 1'000'000)
                                    .value_or(std::max(1, slots_of_node_));
    command.insert(command.end(), {"--ranks-per-node", std::to_string(ranks)});
    std::list<Member> members;
    members.emplace_back("ranks", Slot{}, command, folder_ / "log");
    names_.push_back({"ranks", ""});
    wait_for(members, kinds_.cases_together, turns);
  }

  /// Each member limits the time of its cases itself. A member that does not is killed after the
  /// longest time that its cases may take.
  void wait_for(std::list<Member>& members, std::size_t cases, const Turns& turns) {
    const auto begun = std::chrono::steady_clock::now();
    // A member kills a case that has not begun, or not ended, after this time.
    const double of_case =
        2 * (2 * turns.seconds + read_seconds(arguments_, "timeout").value_or(usual_timeout));
    const double most = seconds_of_start + of_case * static_cast<double>(cases) * turns.passes;
    try {
      while (!members.empty()) {
        constexpr std::chrono::milliseconds interval(200);
        if (const int number = wait_for_signal(interval)) throw Interruption{number};
        const bool late = seconds_since(begun) > most;
        members.remove_if([&](Member& member) {
          const std::optional<ProcessEnd> ended = member.child.poll();
          if (!ended && late) {
            member.child.kill(grace_of_runs);
            lose(member.name, fmt::format("was killed: it took longer than {:.0f} s", most));
            return true;
          }
          if (!ended) return false;
          member.child.kill(std::chrono::milliseconds(0));  // and the processes that it left behind
          if (ended->signalled || ended->code == static_cast<int>(ExitCode::usage))
            lose(member.name, ended->text());
          return true;
        });
      }
    } catch (const Interruption&) {
      for (Member& member : members) member.child.kill(grace_of_runs);
      throw;
    }
  }

  void lose(const std::string& name, const std::string& how) {
    lost_.push_back(fmt::format("{}: its process {}: {}", name, how,
                                read_tail(folder_ / "log" / (name + ".err.txt"))));
  }

  void lose_without_row(const std::string& name) {
    lost_.push_back(fmt::format("{}: it has no row. {}", name,
                                read_tail(folder_ / "log" / (name + ".err.txt"))));
  }

  /// The rows in the journals, which exist even if a member was killed.
  RunResult collect() {
    RunResult all;
    std::set<std::string> hosts;
    for (std::size_t number = 0; number < names_.size(); ++number) {
      const auto& [name, host] = names_[number];
      const fs::path journal = folder_ / "members" / name / "journal.jsonl";
      std::error_code unknown;
      if (!fs::exists(journal, unknown)) {
        if (stopped_.empty()) lose_without_row(name);
        continue;
      }
      RunResult part;
      try {
        part = make_run_result(read_run(journal), {});
      } catch (const std::exception& error) {  // an empty or damaged journal
        lost_.push_back(name + ": " + error.what());
        continue;
      }
      if (part.rows.empty()) {
        if (stopped_.empty()) lose_without_row(name);
        continue;
      }
      const auto first = static_cast<int>(all.environments.size());
      for (Row& row : part.rows) {
        // The devices of a host are launches of one case.
        row.launch = row.launch * static_cast<std::int64_t>(names_.size()) +
                     static_cast<std::int64_t>(number);
        row.environment += first;
        hosts.insert(host);
        all.rows.push_back(std::move(row));
      }
      std::ranges::move(part.environments, std::back_inserter(all.environments));
      all.system = part.system;
      all.run.statistics = part.run.statistics;
    }
    for (const auto& [name, host] : names_)
      if (!host.empty() && hosts.insert(host).second)
        missing_.push_back({host, "no row of its burn-in was finished"});
    return all;
  }

  int finish() {
    RunResult all = collect();
    if (all.rows.empty()) {
      for (const std::string& lost : lost_) std::cerr << "assay burn: " << lost << "\n";
      std::cerr << "assay burn: no row was finished"
                << (stopped_.empty() ? "" : " (" + stopped_ + ")") << ".\n";
      return static_cast<int>(ExitCode::failed);
    }
    RunHeader header = make_header(
        fmt::format("burn-{:%Y%m%dT%H%M%SZ}-{}", fmt::gmtime(std::time(nullptr)), getpid()),
        read_suite(find_suite(request_.suite)).at("name"),
        command_line("assay burn", {"SUITE"}, arguments_),
        read_whole_number(arguments_, "seed", 0, UINT64_MAX).value_or(1), started_);
    header.finished = format_utc_now();
    header.statistics = all.run.statistics;
    header.timing.burn = turn_s_;  // so that a row's command can repeat the burn-in
    if (!missing_.empty()) header.missing_nodes = missing_;
    all.run = std::move(header);
    if (all.system.empty()) all.system = "unknown";
    const fs::path file = folder_ / "result.json";
    write_checked(all, file);
    BurnTotals totals;
    for (const Row& row : all.rows) totals.add(row, all.environment(row).host);
    std::cout << render_burn_table(totals.take()) << "\nresult: " << file.string() << "\n"
              << std::flush;
    for (const std::string& lost : lost_) std::cerr << "assay burn: " << lost << "\n";
    if (!stopped_.empty()) std::cerr << "assay burn: " << stopped_ << ".\n";
    ExitCode code = exit_code(all.rows);
    if (!lost_.empty() || !missing_.empty() || !stopped_.empty())
      code = find_gravest(code, ExitCode::failed);
    write_end(folder_, describe_end(static_cast<int>(code)));
    return static_cast<int>(code);
  }

  const Arguments& arguments_;
  double seconds_, turn_s_ = 0;
  int threads_, gpus_, slots_of_node_ = 0;
  BurnRequest request_;
  Kinds kinds_;
  fs::path folder_;
  std::string started_, stopped_;
  std::vector<std::pair<std::string, std::string>> names_;  ///< of members, and their hosts
  std::vector<std::string> lost_;
  std::vector<MissingNode> missing_;
};

}  // namespace

int run_burn(const Arguments& arguments) {
  try {
    return BurnRun(arguments).run();
  } catch (const Interruption& signal) {
    std::cerr << fmt::format("assay burn: stopped by {} before anything was burnt in.\n",
                             strsignal(signal.signal));
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace assay
