#include "runner/ensemble/ensemble_run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <deque>
#include <iostream>
#include <list>
#include <system_error>

#include "analysis/text_table.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"
#include "core/machine/launched.hpp"
#include "core/program/given.hpp"
#include "core/result/journal.hpp"
#include "core/result/result.hpp"
#include "core/result/schema.hpp"
#include "formulas/quality.hpp"
#include "runner/ensemble/slots.hpp"
#include "runner/launch/processes.hpp"
#include "runner/launch/programs.hpp"
#include "runner/launch/site.hpp"
#include "runner/nodes/many_runs.hpp"
#include "runner/run/findings.hpp"
#include "runner/run/run_record.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* record_name = "ensemble.jsonl";

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// An ensemble in progress. Its record is a journal with the events
///   ensemble  the plan, the hashes of machine and software, and the time
///   resume    the run continues
///   member    a member has ended (MemberRun)
class EnsembleRun {
 public:
  EnsembleRun(const Arguments& arguments, EnsemblePlan plan, std::vector<Slot> slots)
      : arguments_(arguments),
        plan_(std::move(plan)),
        ensemble_(plan_.ensemble),
        walltime_(arguments),
        folder_(folder_of_many(arguments, "--ensemble")),
        free_(std::move(slots)) {
    ensemble_.slots = static_cast<int>(free_.size());
  }

  int run() {
    fs::create_directories(folder_ / "members");
    begin();
    say(fmt::format("{} of {}, {} at once, into {}", ensemble_.search,
                    format_count(ensemble_.draws.size(), "member"), free_.size(),
                    folder_.string()));
    for (int rung = 0; rung < std::ssize(plan_.budgets); ++rung) {
      if (rung > 0 && !add_rung(rung)) break;
      run_rung(rung);
      if (out_of_time_) break;
    }
    return finish();
  }

 private:
  /// A member that is running.
  struct Working {
    Working(MemberRun begun, Slot place, WriteTime earlier, const std::vector<std::string>& command,
            const std::string& log)
        : run(std::move(begun)),
          slot(std::move(place)),
          before(earlier),
          child(command, log + ".out.txt", log + ".err.txt") {}
    MemberRun run;
    Slot slot;
    WriteTime before;
    Child child;
  };

  void say(const std::string& text) const {
    if (read_verbosity(arguments_) != Verbosity::quiet)
      std::cerr << "assay run: " << text << std::endl;
  }

  json plan_event() const {
    const ResultEnvironment here = capture_environment();
    return {{"event", "ensemble"},
            {"suite", plan_.suite},
            {"seed", plan_.seed},
            {"search", ensemble_.search},
            {"factor", ensemble_.factor},
            {"draws", plan_.given_draws},
            {"hardware", here.hashes.hardware},
            {"software", here.hashes.software}};
  }

  /// Begins the record, or reads the record of the interrupted run. InputError if that was another
  /// ensemble.
  void begin() {
    const fs::path file = folder_ / record_name;
    json now = plan_event();
    started_ = format_utc_now();
    const bool any = fs::exists(file);
    if (any && !arguments_.contains("resume"))
      throw InputError(
          fmt::format("{} already holds an ensemble. Continue it with --resume, or choose another "
                      "--out.",
                      folder_.string()));
    const std::vector<json> events = any ? read_journal(file) : std::vector<json>{};
    for (const json& event : events) {
      const std::string kind = event.at("event");
      if (kind == "ensemble") expect_same(event, now);
      if (kind == "resume") ++ensemble_.sessions;
      if (kind == "member") ensemble_.runs.push_back(member_run(event.at("run")));
    }
    if (!events.empty()) ++ensemble_.sessions;
    now["started"] = started_;
    Journal(file).append(events.empty() ? now : json{{"event", "resume"}, {"started", started_}});
    if (!events.empty()) started_ = events.front().at("started");
  }

  void expect_same(const json& before, const json& now) const {
    for (const auto& [name, value] : now.items()) {
      const bool machine = name == "hardware" || name == "software";
      if (before.at(name) == value || (machine && arguments_.contains("allow-mixed"))) continue;
      throw InputError(fmt::format(
          "cannot resume {} (its {} differs). Use the same{}, or another --out.", folder_.string(),
          name == "draws" ? "number of members" : name, machine ? ", or give --allow-mixed" : ""));
    }
  }

  std::string make_name(int member, int rung) const {
    return fmt::format("{:05}-{}", member, rung);
  }
  fs::path member_folder(int member, int rung) const {
    return folder_ / "members" / make_name(member, rung);
  }

  /// Adds the next rung. False if no member can be trained further.
  bool add_rung(int rung) {
    MemberResults results;
    read_results(results);
    const std::vector<int> members = next_members(ensemble_, results.rows(), rung - 1);
    if (members.empty()) return false;
    ensemble_.rungs.push_back({plan_.budgets[static_cast<std::size_t>(rung)], members});
    return true;
  }

  /// True if a member has nothing to train in the rung, because it has a result there or has
  /// reached the target before. A resumed run repeats a row that failed.
  bool is_done(int member, int rung) {
    for (int i = 0; i <= rung; ++i) {
      const RunRemains left = read_run_remains(member_folder(member, i), {});
      if (!left.result) continue;
      for (const Row& row : left.result->rows) {
        expect_one_quality(member, row);
        if (i == rung && !may_be_repeated(row)) return true;
        const auto end = make_ranked_member(row, i, ensemble_.target);
        if (i < rung && end && end->reached) return true;
      }
    }
    return false;
  }

  void run_rung(int rung) {
    // Once the next rung has begun, no member is tried again, because the next rung would then have
    // other members.
    if (std::ranges::any_of(ensemble_.runs,
                            [rung](const MemberRun& run) { return run.rung > rung; }))
      return;
    for (const int member : ensemble_.rungs[static_cast<std::size_t>(rung)].members)
      if (!is_done(member, rung)) waiting_.push_back({member, rung});
    try {
      while (!waiting_.empty() || !working_.empty()) {
        while (!waiting_.empty() && !free_.empty()) start_next();
        constexpr std::chrono::milliseconds interval(100);
        if (const int number = wait_for_signal(interval)) throw Interruption{number};
        working_.remove_if([this](Working& member) { return has_ended(member); });
      }
    } catch (...) {
      for (Working& member : working_) member.child.kill(grace_of_runs);
      working_.clear();
      throw;
    }
  }

  void start_next() {
    const auto left = walltime_.left_seconds();
    if (left && *left == 0) {
      out_of_time_ = true;
      waiting_.clear();
      return;
    }
    const auto [member, rung] = waiting_.front();
    waiting_.pop_front();
    const Slot slot = free_.front();
    free_.erase(free_.begin());
    const fs::path place = member_folder(member, rung);
    const WriteTime before = prepare_folder_of_run(place);
    const std::vector<std::string> command = make_command(member, rung, slot, left);
    working_.emplace_back(MemberRun{member, rung, unix_now(), 0, slot.host, slot.number, ""}, slot,
                          before, command, (folder_ / "log" / make_name(member, rung)).string());
  }

  fs::path name_checkpoint(int member) const {
    return folder_ / "members" / fmt::format("{:05}.checkpoint", member);
  }

  /// Writes the suite of a member in a rung, and returns the command that runs it.
  std::vector<std::string> make_command(int member, int rung, const Slot& slot,
                                        std::optional<std::uint64_t> seconds_left) const {
    const bool continues = plan_.budgets.size() > 1;
    const std::string checkpoint = continues ? name_checkpoint(member).string() : "";
    if (continues) {  // left by a killed process
      std::error_code absent;
      fs::remove(checkpoint + ".partial", absent);
      if (rung == 0) fs::remove(checkpoint, absent);
    }
    const fs::path place = member_folder(member, rung), suite = place.string() + ".json";
    write_json(
        suite,
        make_suite(
            plan_.suite,
            {member_group(plan_.group, plan_.given_draws[static_cast<std::size_t>(member)],
                          {plan_.budgets[static_cast<std::size_t>(rung)], checkpoint, rung > 0})}));
    Arguments own = arguments_;
    own["SUITE"] = {suite.string()};
    own["out"] = {place.string()};
    own["resume"] = own["no-ceilings"] = own["quiet"] = {""};
    own["as-member"] = {fmt::format("{}/{}", slot.number, plan_.group.threads)};
    std::vector<std::string> command = slot.launcher;
    for (std::string& word : words_of_run(own, {"ensemble", "search", "factor", "launcher", "nodes",
                                                "walltime", "site", "verbose"}))
      command.push_back(std::move(word));
    if (seconds_left) command.insert(command.end(), {"--walltime", format_clock(*seconds_left)});
    return command;
  }

  /// Takes the result of a member whose process has ended.
  bool has_ended(Working& member) {
    const std::optional<ProcessEnd> ended = member.child.poll();
    if (!ended) return false;
    MemberRun& run = member.run;
    run.ended_unix_s = unix_now();
    member.child.kill(std::chrono::milliseconds(0));  // and the processes that it left behind
    const RunRemains left = read_run_remains(member_folder(run.member, run.rung), member.before);
    if (!left.result || left.result->rows.empty()) run.missing = missing_text(run, *ended);
    if (left.result)
      for (const Row& row : left.result->rows) expect_one_quality(run.member, row);
    Journal(folder_ / record_name).append({{"event", "member"}, {"run", to_document(run)}});
    ensemble_.runs.push_back(run);
    free_.push_back(member.slot);
    tell(run, left);
    return true;
  }

  /// InputError if the quality of a row differs from that of earlier rows, because an ensemble has
  /// one ranking.
  void expect_one_quality(int member, const Row& row) {
    const std::string quality = find_quality(row.metrics);
    if (quality.empty()) return;
    if (!quality_) quality_ = {member, quality};
    const auto& [first, name] = *quality_;
    if (name != quality)
      throw InputError(fmt::format(
          "member {} has the quality {}, and member {} the quality {}: they cannot be ranked. Use "
          "problems of one quality in the search space.",
          first, name, member, quality));
  }

  /// Why an ended process has left no row.
  std::string missing_text(const MemberRun& run, const ProcessEnd& ended) {
    if (!ended.signalled && ended.code == static_cast<int>(ExitCode::incomparable)) {
      out_of_time_ = true;
      return fmt::format("its process {}: no time was left", ended.text());
    }
    return fmt::format("its process {}: {}", ended.text(),
                       read_tail(folder_ / "log" / (make_name(run.member, run.rung) + ".err.txt")));
  }

  void tell(const MemberRun& run, const RunRemains& left) const {
    std::string text = "missing: " + run.missing;
    if (left.result && !left.result->rows.empty()) {
      const Row& row = left.result->rows.back();
      const auto end = make_ranked_member(row, run.rung, ensemble_.target);
      text = end ? fmt::format("{:.4f} after {}", end->quality,
                               format_count(static_cast<std::size_t>(end->epochs), "epoch"))
                 : find_state(row);
    }
    say(fmt::format("[rung {} of {}] member {}: {} ({:.3g} s)", run.rung + 1, plan_.budgets.size(),
                    run.member, visible(text), run.ended_unix_s - run.started_unix_s));
  }

  void read_results(MemberResults& results) const {
    for (int rung = 0; rung < std::ssize(ensemble_.rungs); ++rung)
      for (const int member : ensemble_.rungs[static_cast<std::size_t>(rung)].members)
        if (RunRemains left = read_run_remains(member_folder(member, rung), {}); left.result)
          results.add(member, std::move(*left.result));
  }

  int finish() {
    MemberResults results;
    read_results(results);
    ensemble_.summary = summarize_ensemble(ensemble_, results.rows());
    RunHeader header =
        make_header(fmt::format("{}-{:%Y%m%dT%H%M%SZ}-{}", plan_.group.benchmark,
                                fmt::gmtime(std::time(nullptr)), getpid()),
                    plan_.suite.at("name"), command_line("assay run", {"SUITE"}, arguments_),
                    plan_.seed, started_);
    header.finished = format_utc_now();
    header.resumed = ensemble_.sessions - 1;
    const auto site = find_site(arguments_);
    const RunResult result =
        results.write(header, ensemble_, site ? site->system : "", folder_ / "result.json");
    const Findings mixed = arguments_.contains("allow-mixed") ? Findings{} : find_mixed(result);
    std::cout << render_ensemble_table(ensemble_, false, false)
              << fmt::format("\nresult: {}/result.json\n", folder_.string()) << mixed.text
              << std::flush;
    ExitCode code = find_gravest(exit_code(result.rows), mixed.code);
    for (const auto* members : {&ensemble_.summary.unranked, &ensemble_.summary.stopped})
      for (const UnrankedMember& member : *members)
        if (member.state == "missing")
          code = find_gravest(code, out_of_time_ ? ExitCode::incomparable : ExitCode::failed);
    write_end(folder_, describe_end(static_cast<int>(code)));
    return static_cast<int>(code);
  }

  const Arguments& arguments_;
  EnsemblePlan plan_;
  Ensemble ensemble_;
  Walltime walltime_;
  fs::path folder_;
  std::vector<Slot> free_;
  std::string started_;
  std::deque<std::pair<int, int>> waiting_;  ///< members, each with its rung
  std::list<Working> working_;
  bool out_of_time_ = false;
  std::optional<std::pair<int, std::string>> quality_;  ///< of the first member that has one
};

/// "16 members train 1, 2, 4 epochs, 1 in 2 of them continues each time".
std::string describe_rungs(const EnsemblePlan& plan) {
  std::vector<std::string> epochs;
  for (const std::int64_t budget : plan.budgets) epochs.push_back(std::to_string(budget));
  return fmt::format(
      "{} train {} epochs{}\n", format_count(plan.ensemble.draws.size(), "member"),
      join(epochs, ", "),
      epochs.size() > 1 ? fmt::format(", 1 in {} of them continues each time", plan.ensemble.factor)
                        : "");
}

}  // namespace

int run_ensemble(const Arguments& arguments) {
  EnsemblePlan plan = ensemble_plan(arguments);
  if (arguments.contains("list") || arguments.contains("dry-run")) {
    std::cout << format_member_list(plan.ensemble);
    if (arguments.contains("dry-run")) std::cout << describe_rungs(plan) << "Nothing was run.\n";
    return static_cast<int>(ExitCode::ok);
  }
  const Temporary scratch = make_scratch_folder();
  std::vector<Slot> slots = make_slots(arguments, plan.group.threads, scratch.path());
  EnsembleRun run(arguments, std::move(plan), std::move(slots));
  constexpr const char* go_on =
      "Members that have ended are kept; continue with the same command and --resume.\n";
  try {
    return run.run();
  } catch (const Interruption& signal) {
    std::cerr << fmt::format("assay run: stopped by {}. {}", strsignal(signal.signal), go_on);
  } catch (const std::system_error& error) {  // a full disk
    std::cerr << fmt::format("assay run: cannot continue ({}). {}", error.what(), go_on);
  }
  return static_cast<int>(ExitCode::failed);
}

int run_as_member(Arguments arguments, const RunOfMember& run) {
  bind_to_slot(*read_value(arguments, "as-member"));
  forget_launcher();
  arguments.erase("as-member");
  return run(arguments);
}

}  // namespace assay
