#pragma once
// An ensemble: trainings of one network (its members) with values drawn from a search space,
// started by `assay run --ensemble` in one allocation. Its result file has it as run.ensemble. Each
// rung of a member is a row; the launch of the row is the member's number, and its epochs are those
// of the rung.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/result/run_result.hpp"

namespace assay {

/// A budget of epochs, and the members that train up to it.
struct EnsembleRung {
  std::int64_t epochs = 0;
  std::vector<int> members{};
};

/// A member in a rung, from the start of its process to its end, in seconds since 1970.
struct MemberRun {
  int member = 0, rung = 0;
  double started_unix_s = 0, ended_unix_s = 0;
  std::string host{};
  int slot = 0;           ///< of the host
  std::string missing{};  ///< why it left no result, or ""
};

/// A verified member: its last verified rung, and the quality that it reached there.
struct RankedMember {
  int member = 0, rung = 0;
  std::int64_t epochs = 0;  ///< epochs that it has trained
  double quality = 0;
  bool reached = false;  ///< the target
  double seconds = 0;    ///< of the training, as in the row's epochs
};

/// A member without a verified result in a rung, and why.
struct UnrankedMember {
  int member = 0, rung = 0;
  std::string state{};  ///< "diverged", "crashed (exit 139)", "timed out", "missing", …
  std::string reason{};
};

struct EnsembleSummary {
  std::string quality{};  ///< "accuracy", "correlation", "iou"; "": no member is verified
  std::vector<RankedMember> ranking{};
  std::vector<UnrankedMember> unranked{};  ///< without a place
  /// Ranked members that went on but have no verified result in the next rung. They keep the place
  /// of their last verified rung.
  std::vector<UnrankedMember> stopped{};
  std::vector<int> incomplete{};  ///< rungs in which a member has no verified result
  int reached = 0;                ///< members that have reached the target
  std::optional<double> hours{};  ///< from the start of the first member to the end of the last
  std::optional<double> models_per_hour{};
  std::string hours_reason{};  ///< why there are no hours
};

struct Ensemble {
  std::string search{};  ///< "random" or "halving"
  int factor = 2;        ///< of halving
  double target = 0;
  nlohmann::json space{};                                   ///< as in the suite
  std::vector<std::map<std::string, std::string>> draws{};  ///< by member
  int slots = 0, threads = 1;                               ///< of all nodes; of a member
  int sessions = 1;                                         ///< above 1: the run was resumed
  std::vector<EnsembleRung> rungs{};
  std::vector<MemberRun> runs{};
  EnsembleSummary summary{};
};
void to_json(nlohmann::json& json, const Ensemble& ensemble);
void from_json(const nlohmann::json& json, Ensemble& ensemble);

/// A run as it stands among `runs`.
nlohmann::json to_document(const MemberRun& run);
MemberRun member_run(const nlohmann::json& document);

/// Name of the field of "run".
inline constexpr const char* ensemble_field = "ensemble";
/// The ensemble of a result; nothing if it has none. InputError, naming `file`, if the ensemble
/// does not follow from the rows (expect_ensemble).
std::optional<Ensemble> read_ensemble(const RunResult& result, const std::string& file);

/// The row of a member in a rung; null if there is none.
const Row* find_row(const Ensemble& ensemble, const std::vector<Row>& rows, int member, int rung);
/// The rank that a row gives its member. A row that is not verified gives none.
std::optional<RankedMember> make_ranked_member(const Row& row, int rung, double target);
/// True if `a` is better: it reached the target in fewer epochs, else in the later rung, else with
/// the better quality, else by the smaller number. Seconds do not count, so equal seeds give equal
/// rankings.
bool is_better(const RankedMember& a, const RankedMember& b);
/// The members of the next rung: the best 1/factor of those of the rung `rung`, at least one. Empty
/// if none of them can be trained further.
std::vector<int> next_members(const Ensemble& ensemble, const std::vector<Row>& rows, int rung);
/// "diverged", "crashed (exit 139)": the state of a row that is not verified.
std::string find_state(const Row& row);
/// Ranks the members, and counts them.
EnsembleSummary summarize_ensemble(const Ensemble& ensemble, const std::vector<Row>& rows);

/// Checks properties of run.ensemble against the rows, independently of summarize_ensemble(): each
/// member occurs once, and none is behind a worse one; a rung has the best members of the previous
/// rung; rows have the values that were drawn for them; the hours contain every member's time
/// stamps. InputError with the JSON pointer.
void expect_ensemble(const Ensemble& ensemble, const RunResult& result, const std::string& file);

/// The state and reason of a member without a verified result in a rung. `row`: its row there, or
/// null.
UnrankedMember make_unverified_member(const Ensemble& ensemble, const Row* row, int member,
                                      int rung);
/// "12 members: 9 reached 0.9, 1 did not (of which 1 stopped: 1 timed out), 1 diverged, 1 crashed
/// (exit 139)".
std::string count_text(const Ensemble& ensemble);
/// The ranking, the members without a place, and models an hour, on a terminal or as Markdown.
std::string render_ensemble_table(const Ensemble& ensemble, bool markdown, bool latex);
/// The values of each member, a line for each.
std::string format_member_list(const Ensemble& ensemble);
/// A record for each member.
std::string render_ensemble_csv(const Ensemble& ensemble);

}  // namespace assay
