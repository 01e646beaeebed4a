#include "analysis/ensemble/ensemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/base/json_fields.hpp"
#include "core/base/numbers.hpp"
#include "formulas/quality.hpp"

namespace assay {

using nlohmann::json;

static void visit_fields(SameAs<EnsembleRung> auto& rung, auto& fields) {
  fields.always("epochs", rung.epochs, "members", rung.members);
}

static void visit_fields(SameAs<MemberRun> auto& run, auto& fields) {
  fields.always("member", run.member, "rung", run.rung, "started_unix_s", run.started_unix_s);
  fields.always("ended_unix_s", run.ended_unix_s, "host", run.host, "slot", run.slot);
  fields.nullable("missing", run.missing);
}

static void visit_fields(SameAs<RankedMember> auto& member, auto& fields) {
  fields.always("member", member.member, "rung", member.rung, "epochs", member.epochs);
  fields.always("quality", member.quality, "reached", member.reached, "seconds", member.seconds);
}

static void visit_fields(SameAs<UnrankedMember> auto& member, auto& fields) {
  fields.always("member", member.member, "rung", member.rung, "state", member.state);
  fields.always("reason", member.reason);
}

static void visit_fields(SameAs<EnsembleSummary> auto& summary, auto& fields) {
  fields.nullable("quality", summary.quality);
  fields.always("ranking", summary.ranking, "unranked", summary.unranked);
  fields.always("stopped", summary.stopped, "incomplete", summary.incomplete);
  fields.always("reached", summary.reached);
  fields.nullable("hours", summary.hours, "models_per_hour", summary.models_per_hour);
  fields.nullable("hours_reason", summary.hours_reason);
}

static void visit_fields(SameAs<Ensemble> auto& ensemble, auto& fields) {
  fields.always("search", ensemble.search, "factor", ensemble.factor, "target", ensemble.target);
  fields.always("space", ensemble.space, "draws", ensemble.draws, "slots", ensemble.slots);
  fields.always("threads", ensemble.threads, "sessions", ensemble.sessions);
  fields.always("rungs", ensemble.rungs, "runs", ensemble.runs, "summary", ensemble.summary);
}

void to_json(json& document, const Ensemble& ensemble) { document = write_fields(ensemble); }
void from_json(const json& document, Ensemble& ensemble) { read_fields(document, ensemble); }

json to_document(const MemberRun& run) { return write_fields(run); }
MemberRun member_run(const json& document) {
  MemberRun run;
  read_fields(document, run);
  return run;
}

std::optional<Ensemble> read_ensemble(const RunResult& result, const std::string& file) {
  const auto entry = result.run.rest.find(ensemble_field);
  if (entry == result.run.rest.end()) return std::nullopt;
  const Ensemble ensemble = *entry;
  expect_ensemble(ensemble, result, file);
  return ensemble;
}

const Row* find_row(const Ensemble& ensemble, const std::vector<Row>& rows, int member, int rung) {
  const Row* last = nullptr;  // a resumed run may have repeated the row: its last row counts
  for (const Row& row : rows)
    if (row.launch == member &&
        row.number("epochs") ==
            static_cast<double>(ensemble.rungs.at(static_cast<std::size_t>(rung)).epochs))
      last = &row;
  return last;
}

std::optional<RankedMember> make_ranked_member(const Row& row, int rung, double target) {
  const std::string quality = find_quality(row.metrics);
  if (!row.is_ok() || quality.empty() || row.epochs.empty()) return std::nullopt;
  const std::optional<double> value = row.metrics.at(quality).value;
  if (!value) return std::nullopt;
  const Epoch& last = row.epochs.back();
  return RankedMember{
      static_cast<int>(row.launch), rung, last.epoch, *value, *value >= target, last.seconds};
}

bool is_better(const RankedMember& a, const RankedMember& b) {
  // The best member is the one that reached the target after the fewest epochs: the other members
  // were still below the target then.
  const auto key = [](const RankedMember& member) {
    return std::tuple(!member.reached, member.reached ? member.epochs : -member.rung,
                      -member.quality, member.member);
  };
  return key(a) < key(b);
}

std::vector<int> next_members(const Ensemble& ensemble, const std::vector<Row>& rows, int rung) {
  const EnsembleRung& now = ensemble.rungs.at(static_cast<std::size_t>(rung));
  std::vector<RankedMember> verified;
  for (const int member : now.members)
    for (int last = rung; last >= 0; --last)  // a member that has reached the target is not trained
                                              // further
      if (const Row* const row = find_row(ensemble, rows, member, last)) {
        if (const auto end = make_ranked_member(*row, last, ensemble.target);
            end && (last == rung || end->reached))
          verified.push_back(*end);
        break;
      }
  std::sort(verified.begin(), verified.end(), is_better);
  const std::size_t keep =
      std::max<std::size_t>(1, now.members.size() / static_cast<std::size_t>(ensemble.factor));
  verified.resize(std::min(keep, verified.size()));
  if (std::ranges::all_of(verified, &RankedMember::reached)) return {};
  std::vector<int> members;
  for (const RankedMember& member : verified) members.push_back(member.member);
  std::sort(members.begin(), members.end());
  return members;
}

namespace {

/// The exit code of a shell for "killed by signal 11 (…) in this case", "ended with exit code 3 …".
std::optional<int> exit_in(const std::string& reason) {
  constexpr int of_signals = 128;
  for (const auto& [begin, base] :
       {std::pair{"killed by signal ", of_signals}, {"ended with exit code ", 0}}) {
    const std::size_t at = reason.find(begin);
    if (at == std::string::npos) continue;
    const std::size_t from = at + std::string(begin).size();
    const std::size_t end = reason.find_first_not_of("0123456789", from);
    if (const auto code = parse_number<int>(reason.substr(from, end - from))) return base + *code;
  }
  return std::nullopt;
}

/// The hours of all runs together.
void add_hours(const Ensemble& ensemble, EnsembleSummary& summary) {
  if (ensemble.sessions > 1) {
    summary.hours_reason = fmt::format(
        "the run was interrupted and resumed ({} sessions): between them no member trained",
        ensemble.sessions);
    return;
  }
  if (ensemble.runs.empty()) {
    summary.hours_reason = "no member was started";
    return;
  }
  constexpr double seconds_of_hour = 3600;
  double started = ensemble.runs.front().started_unix_s, ended = 0;
  for (const MemberRun& run : ensemble.runs) {
    started = std::min(started, run.started_unix_s);
    ended = std::max(ended, run.ended_unix_s);
  }
  summary.hours = (ended - started) / seconds_of_hour;
  summary.models_per_hour = summary.reached / *summary.hours;
}

}  // namespace

std::string find_state(const Row& row) {
  if (row.status == "timeout") return "timed out";
  if (row.status == "incorrect" && row.reason.find("training diverged") != std::string::npos)
    return "diverged";
  if (row.status != "failed") return row.is_ok() ? "without a quality" : row.status;
  const auto code = exit_in(row.reason);
  return code ? fmt::format("crashed (exit {})", *code) : "failed";
}

UnrankedMember make_unverified_member(const Ensemble& ensemble, const Row* row, int member,
                                      int rung) {
  if (row != nullptr) return {member, rung, find_state(*row), row->reason};
  std::string why = "it was not started (no time was left)";
  for (const MemberRun& run : ensemble.runs)
    if (run.member == member && run.rung == rung && !run.missing.empty()) why = run.missing;
  return {member, rung, "missing", why};
}

EnsembleSummary summarize_ensemble(const Ensemble& ensemble, const std::vector<Row>& rows) {
  EnsembleSummary summary;
  std::map<int, RankedMember> ends;  // the last verified rung of each member
  for (int rung = 0; rung < std::ssize(ensemble.rungs); ++rung) {
    std::vector<UnrankedMember> unverified;
    for (const int member : ensemble.rungs[static_cast<std::size_t>(rung)].members) {
      const auto before = ends.find(member);
      if (before != ends.end() && before->second.reached) continue;  // it is not trained further
      const Row* const row = find_row(ensemble, rows, member, rung);
      if (auto end =
              row == nullptr ? std::nullopt : make_ranked_member(*row, rung, ensemble.target)) {
        end->member = member;
        ends[member] = *end;
        summary.quality = find_quality(row->metrics);
      } else {
        unverified.push_back(make_unverified_member(ensemble, row, member, rung));
      }
    }
    if (unverified.empty()) continue;
    summary.incomplete.push_back(rung);
    std::vector<UnrankedMember>& list = rung == 0 ? summary.unranked : summary.stopped;
    list.insert(list.end(), unverified.begin(), unverified.end());
  }
  for (const auto& [member, end] : ends) summary.ranking.push_back(end);
  summary.reached =
      static_cast<int>(std::ranges::count_if(summary.ranking, &RankedMember::reached));
  std::sort(summary.ranking.begin(), summary.ranking.end(), is_better);
  add_hours(ensemble, summary);
  return summary;
}

}  // namespace assay
