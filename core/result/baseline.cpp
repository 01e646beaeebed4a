#include "core/result/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/result/launches.hpp"
#include "core/result/marks.hpp"
#include "core/result/run_result.hpp"
#include "core/result/same_work.hpp"
#include "core/result/schema.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path baselines_folder() { return data_folder("results-schema") / "baselines"; }

/// The algorithm that ran or, if the row does not say, the requested one.
std::string algorithm(const Row& row) {
  return row.execution && !row.execution->algorithm.empty() ? row.execution->algorithm
                                                            : row.parameter("algorithm");
}

/// Parameters that should also be equal. If several rows match, one with the same algorithm and
/// these is preferred.
constexpr std::array same_ways{"transport", "smt", "framework", "tuning"};
bool same_way(const Row& a, const Row& b) {
  for (const char* name : same_ways)
    if (parameter(a, name) != parameter(b, name)) return false;
  const std::string algorithm_name = a.parameter("algorithm");
  return (!algorithm_name.empty() && algorithm_name == b.parameter("algorithm")) ||
         algorithm(a) == algorithm(b);
}

/// True if two rows come from the same source, within which incomparable rows may be compared.
bool have_one_source(const Row& row, const Row& base) {
  return !row.comparable_within.empty() && row.comparable_within == base.comparable_within;
}

/// The work of a row, as the key of an index.
std::pair<std::string, std::string> describe_work(const Row& row) {
  return {row.benchmark, row.problem.descriptor};
}

/// Numbers of a row and of a baseline in the same unit: seconds if both have them, else a rate that
/// both have.
struct Comparable {
  std::string unit;  ///< "" where the two have no common unit
  double row = 0, base = 0;
  double speedup() const { return unit == "s" ? base / row : row / base; }
};

Comparable find_comparable_numbers(const Row& row, const Launches& base) {
  if (base.status == "ok" && row.time_s) return {"s", row.time_s->median, base.median};
  for (const auto& [name, value] : base.first().rates)
    if (const auto mine = row.rate(name); value && mine) return {name, *mine, *value};
  return {};
}

/// The printed ratio of a source (time of `row` over time of `other`) if it differs from the ratio
/// of the printed times, which were rounded after it was computed. Else nullptr.
const PrintedRatio* contradicting_ratio(const Row& row, const Row& other, const std::string& system,
                                        double ratio) {
  if (!row.printed) return nullptr;
  for (const PrintedRatio& printed : row.printed->ratios) {
    if (printed.row != other.id || (!system.empty() && printed.system != system)) continue;
    const std::string& text = printed.text;
    const std::size_t point = text.find('.');
    const std::size_t end = text.find_first_not_of("0123456789.");
    const std::size_t decimals =
        point == std::string::npos ? 0 : std::min(end, text.size()) - point - 1;
    if (fmt::format("{:.{}f}", ratio, decimals) != text.substr(0, end)) return &printed;
  }
  return nullptr;
}

/// The candidate that a row is compared with: launches of one id in one environment.
struct Candidate {
  Launches launches;
  Comparable numbers;
  bool same_way = false;         ///< the row's algorithm, framework, transport and SMT
  std::size_t environments = 1;  ///< environments in which the id ran
};

/// Why these launches have no number to compare with, or "". All launches of an id count: an
/// incorrect launch leaves no number.
std::string obstacle(const Launches& launches) {
  if (launches.status != "ok" && launches.rate_name.empty())
    return fmt::format("its row is {} ({})", launches.status, launches.reason);
  if (launches.status == "ok" && !(launches.median > 0))
    return "its time is below the resolution of the timer";
  return "";
}

/// Why a row and these launches have no number in the same unit.
std::string no_common_unit(const Row& row, const Launches& launches) {
  return fmt::format("no common unit: {} there, {} here",
                     launches.rate_name.empty() ? "seconds" : launches.rate_name,
                     row.time_s ? "seconds and no such rate" : "another rate");
}

/// The candidate that ran in the same way, else the fastest. If no candidate has a number: nothing,
/// and the reason.
std::optional<Candidate> best_candidate(const Row& row,
                                        const std::map<std::string, LaunchGroups>& ids,
                                        Preference preference, std::string& reason) {
  std::optional<Candidate> best;
  for (const auto& [id, groups] : ids) {
    const std::vector<Launches> all = groups.summarize();
    for (const Launches& launches : all) {
      if (const std::string why = obstacle(launches); !why.empty()) {
        reason = why;
        continue;
      }
      const Comparable numbers = find_comparable_numbers(row, launches);
      if (numbers.unit.empty()) {
        reason = no_common_unit(row, launches);
        continue;
      }
      const bool same = preference == Preference::same_way && same_way(row, launches.first());
      if (!best || (same && !best->same_way) ||
          (same == best->same_way && numbers.speedup() < best->numbers.speedup()))
        best = {launches, numbers, same, all.size()};
    }
  }
  return best;
}

/// The notes that a reader needs besides the ratio: how the other row was obtained.
std::vector<std::string> make_notes(const Row& row, const Candidate& candidate) {
  const Row& base = candidate.launches.first();
  std::vector<std::string> notes;
  if (candidate.launches.published) notes.push_back("published, not measured: no interval");
  if (const std::string theirs = algorithm(base); theirs != algorithm(row) && !theirs.empty())
    notes.push_back(fmt::format("another algorithm: {} there, {} here", theirs, algorithm(row)));
  if (const std::string theirs = base.parameter("backend");
      !theirs.empty() && theirs != row.parameter("backend"))
    notes.push_back("by " + theirs);
  for (const char* name : same_ways)
    if (const json theirs = parameter(base, name), mine = parameter(row, name); theirs != mine)
      notes.push_back(fmt::format("{} is {} there, {} here", name, describe_value(theirs),
                                  describe_value(mine)));
  if (const std::vector<std::string> left = list_implied_parameters(row, base); !left.empty())
    notes.push_back("not given there: " + join(left, ", "));
  if (const json theirs = parameter(base, "nodes"), mine = parameter(row, "nodes"); theirs != mine)
    notes.push_back(
        fmt::format("nodes is {} there, {} here", describe_value(theirs), describe_value(mine)));
  if (!base.projection.empty()) notes.push_back("a projection: " + base.projection);
  if (row.problem.rest.contains("global_batch_size") !=
      base.problem.rest.contains("global_batch_size"))
    notes.push_back("only one side gives its batch size");
  if (candidate.environments > 1)
    notes.push_back(fmt::format("it ran in {} different environments, this is one of them",
                                candidate.environments));
  return notes;
}

/// Uses the printed ratio of a source if it contradicts the printed numbers.
void apply_printed_ratio(RowBaseline& match, const Row& row, const Row& base) {
  const double speedup = match.speedup;
  const PrintedRatio* printed =
      contradicting_ratio(row, base, match.system, speedup > 0 ? 1 / speedup : 0);
  const bool row_over_base = printed != nullptr;
  if (!row_over_base) printed = contradicting_ratio(base, row, "", speedup);
  if (printed == nullptr) return;
  match.speedup = row_over_base ? 1 / printed->value : printed->value;
  match.ratio_printed = printed->text;
}

}  // namespace

fs::path baseline_file(const std::string& file_or_name) {
  std::error_code missing;
  if (fs::exists(file_or_name, missing)) return file_or_name;
  const std::vector<std::string> names = list_baseline_names();
  if (std::find(names.begin(), names.end(), file_or_name) == names.end())
    throw InputError(explain_unknown_name("baseline", file_or_name, names) +
                     " A baseline is a result file, or the name of a file in " +
                     baselines_folder().string() + ".");
  return baselines_folder() / (file_or_name + ".json");
}

Baseline Baseline::load(const std::string& file_or_name) {
  const fs::path file = baseline_file(file_or_name);
  RunResult result = read_result(file);
  Baseline baseline;
  baseline.system_ = result.system;
  for (Row& row : result.rows) {
    std::string environment = result.environment(row).key();
    baseline.add(SharedRow(std::move(row)), std::move(environment));
  }
  return baseline;
}

Baseline Baseline::make(const std::string& system, const std::vector<Row>& rows) {
  Baseline baseline;
  baseline.system_ = system;
  for (const Row& row : rows) baseline.add(SharedRow(row), "");
  return baseline;
}

Baseline Baseline::make_of_launches(const std::string& system, const Launches& launches) {
  Baseline baseline;
  baseline.system_ = system;
  for (const SharedRow& row : launches.rows) baseline.add(row, "");
  return baseline;
}

void Baseline::add(SharedRow row, std::string environment) {
  rows_of_work_[describe_work(row)].push_back(rows_.size());
  rows_.push_back(std::move(row));
  environments_.push_back(std::move(environment));
}

Baseline Baseline::where(const std::string& parameter, const std::string& value) const {
  Baseline part;
  part.system_ = system_;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::string its = rows_[i]->parameter(parameter);
    if (!its.empty() && its == value) part.add(rows_[i], environments_[i]);
  }
  return part;
}

std::vector<std::size_t> Baseline::have_same_problem(const Row& row) const {
  std::pair<std::string, std::string> work = describe_work(row);
  std::vector<std::size_t> rows_of_problem;
  const auto add = [&] {
    if (const auto rows = rows_of_work_.find(work); rows != rows_of_work_.end())
      rows_of_problem.insert(rows_of_problem.end(), rows->second.begin(), rows->second.end());
  };
  add();
  if (!rows_of_problem.empty()) return rows_of_problem;
  for (const std::string& name : row.names) {
    work.second = within_list(name);
    add();
  }
  return rows_of_problem;
}

std::map<std::string, LaunchGroups> Baseline::same_work(const Row& row,
                                                        const std::vector<std::size_t>& candidates,
                                                        std::string& reason) const {
  std::map<std::string, LaunchGroups> ids;
  for (const std::size_t i : candidates) {
    const Row& base = rows_[i];
    const std::string other = difference(row, base);
    if (!other.empty())
      reason = reason.empty() ? other : reason;
    else if (!base.incomparable.empty() && !have_one_source(row, base))
      reason = base.incomparable;
    else
      ids[base.id].add(rows_[i], environments_[i]);
  }
  return ids;
}

std::optional<RowBaseline> Baseline::match(const Row& row, std::string* why,
                                           Preference preference) const {
  const auto no_match = [&](const std::string& reason) {
    if (why != nullptr) *why = reason;
    return std::nullopt;
  };
  if (!row.is_ok()) return no_match("the row is " + row.status);
  if (row.time_s && !(row.time_s->median > 0))
    return no_match("the row's time is below the resolution of the timer");
  const std::vector<std::size_t> same_problem = have_same_problem(row);
  if (same_problem.empty()) return no_match(fmt::format("{} has no row of this problem", system_));

  std::string reason;
  const auto ids = same_work(row, same_problem, reason);
  const std::optional<Candidate> best = best_candidate(row, ids, preference, reason);
  if (!best) return no_match(fmt::format("{}: {}", system_, reason));
  const Row& base = best->launches.first();
  if (why != nullptr) why->clear();
  RowBaseline match;
  match.system = system_;
  match.value = best->numbers.base;
  match.unit = best->numbers.unit;
  match.speedup = best->numbers.speedup();
  match.published = best->launches.published;
  match.citation = base.citation;
  match.algorithm = algorithm(base);
  match.note = join(make_notes(row, *best), "; ");
  match.projection = !base.projection.empty();
  match.not_given = list_implied_parameters(row, base);
  const std::string mark = choose_mark(best->launches);
  match.shared = mark == shared_mark;
  match.throttled = mark == throttled_mark;
  if (base.printed) match.remark = base.printed->reason;
  apply_printed_ratio(match, row, base);
  return match;
}

void add_baseline(Row& row, const std::vector<Baseline>& baselines) {
  std::vector<std::string> reasons;
  for (const Baseline& baseline : baselines) {
    std::string why;
    if (const auto match = baseline.match(row, &why)) {
      row.baseline = *match;
      row.baseline_reason.clear();
      return;
    }
    // A reason that depends on the system names it, so equal reasons are listed once.
    if (std::find(reasons.begin(), reasons.end(), why) == reasons.end()) reasons.push_back(why);
  }
  if (!reasons.empty()) row.baseline_reason = join(reasons, "; ");
}

std::vector<std::string> list_baseline_names() { return list_json_names(baselines_folder()); }

}  // namespace assay
