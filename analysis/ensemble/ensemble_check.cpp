// Checks that an ensemble follows from its rows. It shares no code with the ranking.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/ensemble/ensemble.hpp"
#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "formulas/quality.hpp"

namespace assay {

namespace {

/// Clocks of hosts may differ by so many seconds.
constexpr double clock_difference = 5;

class EnsembleCheck {
 public:
  EnsembleCheck(const Ensemble& ensemble, const RunResult& result, std::string file)
      : ensemble_(ensemble),
        result_(result),
        file_(std::move(file)),
        count_(std::ssize(ensemble.draws)) {}

  void check() {
    check_draws();
    check_rungs();
    for (std::size_t i = 0; i < result_.rows.size(); ++i) check_row(result_.rows[i], i);
    check_stopped();
    check_places();
    check_order();
    for (std::size_t rung = 1; rung < ensemble_.rungs.size(); ++rung) check_promotion(rung);
    check_runs();
    check_hours();
  }

 private:
  void require(bool holds, const std::string& place, const std::string& what) const {
    if (!holds)
      throw InputError(
          fmt::format("{} at /run/ensemble{}: {}. Make the result anew.", file_, place, what));
  }

  bool is_member(std::int64_t member) const { return member >= 0 && member < count_; }

  void check_draws() const {
    for (std::int64_t member = 0; member < count_; ++member) {
      const auto& draw = ensemble_.draws[static_cast<std::size_t>(member)];
      bool same = draw.size() == ensemble_.space.size();
      for (const auto& [name, value] : draw) same = same && ensemble_.space.contains(name);
      require(same, fmt::format("/draws/{}", member), "its values are not those of the space");
    }
  }

  void check_rungs() const {
    require(!ensemble_.rungs.empty() && std::ssize(ensemble_.rungs[0].members) == count_, "/rungs",
            "the first rung does not have all members");
    for (std::size_t rung = 0; rung < ensemble_.rungs.size(); ++rung) {
      const std::vector<int>& members = ensemble_.rungs[rung].members;
      const std::string place = fmt::format("/rungs/{}", rung);
      require(std::set<int>(members.begin(), members.end()).size() == members.size() &&
                  std::ranges::all_of(members, [this](int member) { return is_member(member); }),
              place, "its members are not distinct members of the ensemble");
      require(rung == 0 || ensemble_.rungs[rung].epochs > ensemble_.rungs[rung - 1].epochs, place,
              "its budget is not above that of the rung before it");
      require(rung == 0 || ensemble_.rungs[rung].epochs / ensemble_.factor ==
                               ensemble_.rungs[rung - 1].epochs,
              place, fmt::format("its budget is not {} times that before it", ensemble_.factor));
    }
    require(ensemble_.search == "halving" || ensemble_.rungs.size() == 1, "/rungs",
            fmt::format("found {} rungs, but the search {} has one", ensemble_.rungs.size(),
                        ensemble_.search));
  }

  /// The rung whose budget a row has; -1 if none has it.
  int find_rung(const Row& row) const {
    const std::optional<double> budget = row.number("epochs");
    for (std::size_t rung = 0; rung < ensemble_.rungs.size(); ++rung)
      if (budget == static_cast<double>(ensemble_.rungs[rung].epochs))
        return static_cast<int>(rung);
    return -1;
  }

  /// A row belongs to a member in a rung, and has the values that were drawn for it.
  void check_row(const Row& row, std::size_t index) {
    const std::string place = fmt::format(", row {}", index);
    const int rung = find_rung(row);
    require(is_member(row.launch) && rung >= 0, place, "it belongs to no member and rung");
    const std::vector<int>& members = ensemble_.rungs[static_cast<std::size_t>(rung)].members;
    require(std::ranges::find(members, row.launch) != members.end(), place,
            fmt::format("member {} was not chosen for rung {}", row.launch, rung));
    require(parse_number(row.parameter("target")) == ensemble_.target, place,
            "it has another target");
    require(!row.parameters.contains("threads") || row.number("threads") == ensemble_.threads,
            "/threads", fmt::format("row {} has {}", index, row.parameter("threads")));
    if (rung > 0 && !row.epochs.empty())
      require(row.epochs.front().epoch > ensemble_.rungs[static_cast<std::size_t>(rung) - 1].epochs,
              place, "epochs of the rung before it were trained again");
    for (const auto& [name, drawn] : ensemble_.draws[static_cast<std::size_t>(row.launch)]) {
      const bool is_problem = name == "problem";
      require(is_problem || row.parameters.contains(name), place, "it has no " + name);
      const std::string own = is_problem ? row.problem.descriptor : row.parameter(name);
      const auto number = parse_number(drawn), its = parse_number(own);
      require(own == drawn || (number && number == its), place,
              fmt::format("its {} is {}, but {} was drawn for member {}", name, own, drawn,
                          row.launch));
    }
    last_[{static_cast<int>(row.launch), rung}] = &row;
  }

  const Row* last_row(int member, int rung) const {
    const auto entry = last_.find({member, rung});
    return entry == last_.end() ? nullptr : entry->second;
  }

  /// The last quality of a row that is ok and has one.
  static std::optional<double> quality_in(const Row* row) {
    if (row == nullptr || row->status != "ok" || row->epochs.empty()) return std::nullopt;
    const std::map<std::string, double>& measures = row->epochs.back().measures;
    const std::string name = find_quality(measures);
    return name.empty() ? std::nullopt : std::optional(measures.at(name));
  }
  bool has_target(const Row* row) const { return quality_in(row).value_or(-1) >= ensemble_.target; }

  /// Each member occurs once, with the values of its last row.
  void check_places() {
    std::set<int> seen;
    std::int64_t reached = 0;
    const EnsembleSummary& summary = ensemble_.summary;
    for (std::size_t i = 0; i < summary.ranking.size(); ++i) {
      const RankedMember& claim = summary.ranking[i];
      const std::string place = fmt::format("/summary/ranking/{}", i);
      require(is_member(claim.member) && seen.insert(claim.member).second, place,
              "the member does not exist, or is listed twice");
      const Row* const row = last_row(claim.member, claim.rung);
      const auto quality = quality_in(row);
      require(quality == claim.quality, place,
              fmt::format("quality {} is not that of a verified row", claim.quality));
      const Epoch& end = row->epochs.back();
      require(end.epoch == claim.epochs && end.seconds == claim.seconds &&
                  claim.reached == has_target(row) && find_quality(end.measures) == summary.quality,
              place, "its epochs, seconds or target are not those of the row");
      expect_last(claim.member, claim.rung, claim.reached, place);
      reached += claim.reached ? 1 : 0;
    }
    for (std::size_t i = 0; i < summary.unranked.size(); ++i) {
      const UnrankedMember& claim = summary.unranked[i];
      const std::string place = fmt::format("/summary/unranked/{}", i);
      require(is_member(claim.member) && seen.insert(claim.member).second, place,
              "the member does not exist, or is listed twice");
      expect_unverified(claim, place);
      for (int rung = 0; rung < claim.rung; ++rung)
        require(!quality_in(last_row(claim.member, rung)), place,
                fmt::format("it is verified in rung {}", rung));
      expect_last(claim.member, claim.rung, false, place);
    }
    require(std::ssize(seen) == count_, "/summary",
            fmt::format("{} of {} members stand in it", seen.size(), count_));
    require(summary.reached == reached, "/summary/reached",
            fmt::format("found {}, expected {}", summary.reached, reached));
  }

  bool is_in_rung(int member, int rung) const {
    return std::ranges::count(ensemble_.rungs[static_cast<std::size_t>(rung)].members, member) > 0;
  }

  /// The state and reason of a member in a rung match its row or process.
  void expect_unverified(const UnrankedMember& claim, const std::string& place) const {
    require(claim.rung >= 0 && claim.rung < std::ssize(ensemble_.rungs) &&
                is_in_rung(claim.member, claim.rung),
            place, "the member does not belong to the rung");
    const Row* const row = last_row(claim.member, claim.rung);
    require(!quality_in(row), place, "its row is verified");
    require((row == nullptr) == (claim.state == "missing"), place,
            row == nullptr ? "it has no row" : "it has a row");
    require(row == nullptr || (claim.reason == row->reason && claim.state == find_state(*row)),
            place, "its state is not that of the row");
    require(!claim.reason.empty() || row != nullptr, place,
            "the member has neither a row nor a reason");
    std::string missing;  // of its last process
    for (const MemberRun& run : ensemble_.runs)
      if (run.member == claim.member && run.rung == claim.rung) missing = run.missing;
    require(row != nullptr || missing.empty() || claim.reason == missing, place,
            "its reason is not that of the run");
  }

  /// If a ranked member lacks a verified result in a rung that it entered, it is reported so.
  void check_stopped() const {
    const EnsembleSummary& summary = ensemble_.summary;
    std::set<int> incomplete, seen;
    for (std::size_t i = 0; i < summary.stopped.size(); ++i) {
      const UnrankedMember& claim = summary.stopped[i];
      const std::string place = fmt::format("/summary/stopped/{}", i);
      expect_unverified(claim, place);
      require(seen.insert(claim.member).second, place, "the member stands twice");
      const auto ranked = std::ranges::find(summary.ranking, claim.member, &RankedMember::member);
      require(ranked != summary.ranking.end() && !ranked->reached && ranked->rung + 1 == claim.rung,
              place, "its place is not that of the rung before");
      incomplete.insert(claim.rung);
    }
    for (const UnrankedMember& claim : summary.unranked) incomplete.insert(claim.rung);
    require(std::vector<int>(incomplete.begin(), incomplete.end()) == summary.incomplete,
            "/summary/incomplete", "these are not the rungs with a member that is not verified");
  }

  /// The entry of a member is its last rung, unless it has reached the target or has stopped.
  void expect_last(int member, int rung, bool reached, const std::string& place) const {
    for (int later = rung + 1; later < std::ssize(ensemble_.rungs); ++later) {
      const bool stopped =
          std::ranges::any_of(ensemble_.summary.stopped, [&](const UnrankedMember& claim) {
            return claim.member == member && claim.rung == later;
          });
      require(stopped ||
                  (last_row(member, later) == nullptr && (reached || !is_in_rung(member, later))),
              place, fmt::format("it went on to rung {}", later));
    }
  }

  /// True if `a` must not be behind `b`.
  static bool precedes(const RankedMember& a, const RankedMember& b) {
    if (a.reached != b.reached) return a.reached;
    if (a.reached && a.epochs != b.epochs) return a.epochs < b.epochs;
    if (!a.reached && a.rung != b.rung) return a.rung > b.rung;
    if (a.quality != b.quality) return a.quality > b.quality;
    return a.member < b.member;
  }

  void check_order() const {
    const std::vector<RankedMember>& ranking = ensemble_.summary.ranking;
    for (std::size_t i = 1; i < ranking.size(); ++i)
      require(precedes(ranking[i - 1], ranking[i]), fmt::format("/summary/ranking/{}", i),
              fmt::format("member {} is better than member {} before it", ranking[i].member,
                          ranking[i - 1].member));
  }

  /// A rung has the best members of the previous rung.
  void check_promotion(std::size_t rung) const {
    const std::vector<int>&before = ensemble_.rungs[rung - 1].members,
          &chosen = ensemble_.rungs[rung].members;
    const std::string place = fmt::format("/rungs/{}", rung);
    std::vector<RankedMember> ends;  // of the verified members before it
    for (const int member : before)
      for (int at = static_cast<int>(rung) - 1; at >= 0; --at)
        if (const Row* const row = last_row(member, at)) {
          if (const auto quality = quality_in(row);
              quality && (has_target(row) || at + 1 == static_cast<int>(rung)))
            ends.push_back({member, at, row->epochs.back().epoch, *quality, has_target(row), 0});
          break;
        }
    const std::size_t most =
        std::max<std::size_t>(before.size() / static_cast<std::size_t>(ensemble_.factor), 1);
    require(
        chosen.size() == std::min(most, ends.size()), place,
        fmt::format("it has {} members, expected {}", chosen.size(), std::min(most, ends.size())));
    const auto is_chosen = [&](const RankedMember& end) {
      return std::ranges::find(chosen, end.member) != chosen.end();
    };
    require(std::ranges::count_if(ends, is_chosen) == std::ssize(chosen), place,
            "a member of it was not verified in the rung before it");
    for (const RankedMember& in : ends)
      for (const RankedMember& out : ends)
        require(
            !is_chosen(in) || is_chosen(out) || precedes(in, out), place,
            fmt::format("member {} was chosen before the better member {}", in.member, out.member));
  }

  /// Processes of members: at most one at a time on a slot, each once in a session, and each with a
  /// row or a reason.
  void check_runs() const {
    require(result_.run.resumed.value_or(0) == ensemble_.sessions - 1, "/sessions",
            fmt::format("found {}, but the run was resumed {} times", ensemble_.sessions,
                        result_.run.resumed.value_or(0)));
    std::map<std::pair<int, int>, int> of_members;
    std::map<std::pair<std::string, int>, std::vector<const MemberRun*>> of_slots;
    for (std::size_t i = 0; i < ensemble_.runs.size(); ++i) {
      const MemberRun& run = ensemble_.runs[i];
      const std::string place = fmt::format("/runs/{}", i);
      require(run.rung >= 0 && run.rung < std::ssize(ensemble_.rungs) && is_member(run.member),
              place, "the ensemble has no such member or rung");
      require(run.started_unix_s <= run.ended_unix_s, place, "it ends before it starts");
      require(++of_members[{run.member, run.rung}] <= ensemble_.sessions, place,
              fmt::format("member {} ran more than once in a session", run.member));
      const bool has_row = last_row(run.member, run.rung) != nullptr;
      require(ensemble_.sessions > 1 || has_row == run.missing.empty(), place,
              has_row ? "it has a row, but a reason why there is none"
                      : "it has neither a row nor a reason");
      for (const MemberRun* const other : of_slots[{run.host, run.slot}])
        require(
            run.started_unix_s >= other->ended_unix_s || other->started_unix_s >= run.ended_unix_s,
            place, fmt::format("member {} ran in its slot at the same time", other->member));
      of_slots[{run.host, run.slot}].push_back(&run);
    }
    if (ensemble_.sessions > 1) return;  // killed processes are not recorded
    // Slots are used in turn, so all of them are used, or one for each run.
    const std::int64_t slots = std::ssize(of_slots),
                       expected =
                           std::min<std::int64_t>(ensemble_.slots, std::ssize(ensemble_.runs));
    require(slots == expected, "/slots",
            fmt::format("found {}, but {} ran in {}", ensemble_.slots,
                        format_count(ensemble_.runs.size(), "run"),
                        format_count(of_slots.size(), "slot")));
    for (const auto& [key, row] : last_)
      require(of_members.contains(key), "/runs",
              fmt::format("member {} has a row of rung {}, but no run", key.first, key.second));
  }

  void check_hours() const {
    const EnsembleSummary& summary = ensemble_.summary;
    require(summary.hours.has_value() == summary.models_per_hour.has_value(), "/summary",
            "hours and models_per_hour must both be numbers, or null");
    require(summary.hours.has_value() == summary.hours_reason.empty(), "/summary/hours_reason",
            summary.hours ? "there are hours, but a reason why there are none"
                          : "there are no hours, and no reason");
    require(summary.hours.has_value() == (ensemble_.sessions == 1 && !ensemble_.runs.empty()),
            "/summary/hours",
            summary.hours ? "a resumed run has no hours" : "the hours of the runs are left out");
    if (!summary.hours) return;
    double first = INFINITY, last = -INFINITY;
    for (const MemberRun& run : ensemble_.runs) {
      first = std::min(first, run.started_unix_s);
      last = std::max(last, run.ended_unix_s);
    }
    constexpr double hour_s = 60 * 60, rounding = 1e-9;
    const double hours = (last - first) / hour_s;
    require(std::fabs(*summary.hours - hours) <= rounding * hours, "/summary/hours",
            fmt::format("found {}, expected {} (from the first start to the last end)",
                        *summary.hours, hours));
    require(
        *summary.models_per_hour * *summary.hours >= summary.reached - rounding * count_ &&
            *summary.models_per_hour * *summary.hours <= summary.reached + rounding * count_,
        "/summary/models_per_hour",
        fmt::format("found {}, expected {}", *summary.models_per_hour, summary.reached / hours));
    for (const Row& row : result_.rows)
      for (const Epoch& epoch : row.epochs) {
        require(epoch.started_unix_s && epoch.ended_unix_s, "/runs",
                fmt::format("member {} does not say when it trained", row.launch));
        require(*epoch.started_unix_s >= first - clock_difference &&
                    *epoch.ended_unix_s <= last + clock_difference,
                "/runs", fmt::format("member {} trained outside of the hours", row.launch));
      }
  }

  const Ensemble& ensemble_;
  const RunResult& result_;
  const std::string file_;
  const std::int64_t count_;
  std::map<std::pair<int, int>, const Row*> last_;  ///< by member and rung
};

}  // namespace

void expect_ensemble(const Ensemble& ensemble, const RunResult& result, const std::string& file) {
  EnsembleCheck(ensemble, result, file).check();
}

}  // namespace assay
