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
#include "core/result/result.hpp"
#include "core/result/same_work.hpp"
#include "core/result/schema.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path baselines_folder() { return data_folder("results-schema") / "baselines"; }

/// The algorithm that ran; the one that was asked for, where the row does not tell.
std::string algorithm(const json& row) {
  const json& executed = row.contains("executed") ? row["executed"] : json();
  if (executed.is_object() && executed.contains("algorithm") && executed["algorithm"].is_string())
    return executed["algorithm"];
  const json asked = parameter(row, "algorithm");
  return asked.is_string() ? asked.get<std::string>() : "";
}

/// Preferred where several rows match: the same algorithm and framework over the same transport
/// with the same SMT.
constexpr std::array same_ways{"transport", "smt", "framework", "tuning"};
bool same_way(const json& a, const json& b) {
  for (const char* name : same_ways)
    if (parameter(a, name) != parameter(b, name)) return false;
  const json asked = parameter(a, "algorithm");
  return (!asked.is_null() && asked == parameter(b, "algorithm")) || algorithm(a) == algorithm(b);
}

/// Whether two rows come from the same source, within which incomparable rows may be compared.
bool of_one_source(const json& row, const json& base) {
  return row.contains("comparable_within") && base.contains("comparable_within") &&
         row["comparable_within"] == base["comparable_within"];
}

/// What a row computed, as the key of an index.
std::pair<std::string, std::string> work_of(const json& row) {
  return {row.at("benchmark"), row.at("problem").at("descriptor")};
}

/// Numbers of a row and of a baseline in the same unit: seconds where both have them, else a rate
/// that both have.
struct Comparable {
  std::string unit;  ///< "" where the two have no common unit
  double row = 0, base = 0;
  double speedup() const { return unit == "s" ? base / row : row / base; }
};

Comparable comparable_numbers(const json& row, const Launches& base) {
  if (base.status == "ok" && row.at("time_s").is_object())
    return {"s", row["time_s"].at("median"), base.median};
  const json rates = row.value("rates", json::object());
  for (const auto& [name, value] : base.first().at("rates").items())
    if (value.is_number() && rates.contains(name) && rates[name].is_number())
      return {name, rates[name], value};
  return {};
}

/// The ratio (time of this row over that of the other) that a source prints, where it does not
/// follow from the printed times: these were rounded, and the ratio was computed before. Else null.
json contradicting_ratio(const json& row, const json& other, const std::string& system,
                         double ratio) {
  for (const json& printed : row.value("printed", json::object()).value("ratios", json::array())) {
    if (printed.at("row") != other.at("id") || (!system.empty() && printed.at("system") != system))
      continue;
    const std::string text = printed.at("text");
    const std::size_t point = text.find('.');
    const std::size_t end = text.find_first_not_of("0123456789.");
    const std::size_t decimals =
        point == std::string::npos ? 0 : std::min(end, text.size()) - point - 1;
    if (fmt::format("{:.{}f}", ratio, decimals) != text.substr(0, end)) return printed;
  }
  return nullptr;
}

/// The candidate that a row is compared with: launches of one id in one environment.
struct Candidate {
  Launches launches;
  Comparable numbers;
  bool same_way = false;         ///< the row's algorithm, framework, transport and SMT
  std::size_t environments = 1;  ///< in which the id ran
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
std::string no_common_unit(const json& row, const Launches& launches) {
  return fmt::format("no common unit: {} there, {} here",
                     launches.rate_name.empty() ? "seconds" : launches.rate_name,
                     row.at("time_s").is_object() ? "seconds and no such rate" : "another rate");
}

/// The candidate that ran in the same way, else the fastest. Nothing, and the reason, where there
/// is no candidate with a number.
std::optional<Candidate> best_candidate(const json& row,
                                        const std::map<std::string, LaunchGroups>& ids,
                                        Preference preference, std::string& reason) {
  std::optional<Candidate> best;
  for (const auto& [id, groups] : ids) {
    const std::vector<Launches> all = groups.summarized();
    for (const Launches& launches : all) {
      if (const std::string why = obstacle(launches); !why.empty()) {
        reason = why;
        continue;
      }
      const Comparable numbers = comparable_numbers(row, launches);
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

/// What a reader must know besides the ratio: how the other row was obtained.
std::vector<std::string> notes_of(const json& row, const Candidate& candidate) {
  const json& base = candidate.launches.first();
  std::vector<std::string> notes;
  if (candidate.launches.published) notes.push_back("published, not measured: no interval");
  if (const std::string theirs = algorithm(base); theirs != algorithm(row) && !theirs.empty())
    notes.push_back(fmt::format("another algorithm: {} there, {} here", theirs, algorithm(row)));
  const json their_backend = parameter(base, "backend");
  if (!their_backend.is_null() && their_backend != parameter(row, "backend"))
    notes.push_back(fmt::format("by {}", their_backend.get<std::string>()));
  for (const char* name : same_ways)
    if (const json theirs = parameter(base, name), mine = parameter(row, name); theirs != mine)
      notes.push_back(fmt::format("{} is {} there, {} here", name, shown(theirs), shown(mine)));
  if (const std::vector<std::string> left = left_to_the_name(row, base); !left.empty())
    notes.push_back("not given there: " + join(left, ", "));
  if (const json theirs = parameter(base, "nodes"), mine = parameter(row, "nodes"); theirs != mine)
    notes.push_back(fmt::format("nodes is {} there, {} here", shown(theirs), shown(mine)));
  if (base.contains("projection"))
    notes.push_back("a projection: " + base["projection"].get<std::string>());
  if (row.at("problem").contains("global_batch_size") !=
      base["problem"].contains("global_batch_size"))
    notes.push_back("only one side gives its batch size");
  if (candidate.environments > 1)
    notes.push_back(fmt::format("it ran in {} different environments, this is one of them",
                                candidate.environments));
  return notes;
}

/// Uses the ratio that a source prints where it contradicts the printed numbers.
void apply_printed_ratio(json& match, const json& row, const json& base,
                         const std::string& base_system) {
  const double speedup = match["speedup"];
  json printed = contradicting_ratio(row, base, base_system, speedup > 0 ? 1 / speedup : 0);
  const bool row_over_base = printed.is_object();
  if (!row_over_base) printed = contradicting_ratio(base, row, "", speedup);
  if (!printed.is_object()) return;
  const double ratio = printed.at("value");
  match["speedup"] = row_over_base ? 1 / ratio : ratio;
  match["ratio_printed"] = printed.at("text");
}

}  // namespace

fs::path baseline_file(const std::string& file_or_name) {
  std::error_code missing;
  if (fs::exists(file_or_name, missing)) return file_or_name;
  const std::vector<std::string> names = baseline_names();
  if (std::find(names.begin(), names.end(), file_or_name) == names.end())
    throw InputError(unknown_name("baseline", file_or_name, names) +
                     " A baseline is a result file, or the name of a file in " +
                     baselines_folder().string() + ".");
  return baselines_folder() / (file_or_name + ".json");
}

Baseline Baseline::load(const std::string& file_or_name) {
  const fs::path file = baseline_file(file_or_name);
  json document = read_result(file);
  Baseline baseline;
  baseline.system_ = document["system"]["name"];
  for (json& row : document["rows"]) {
    std::string environment = environment_key(document, row);
    baseline.add(SharedRow(std::move(row)), std::move(environment));
  }
  return baseline;
}

Baseline Baseline::of(const std::string& system, const std::vector<json>& rows) {
  Baseline baseline;
  baseline.system_ = system;
  for (const json& row : rows) baseline.add(SharedRow(row), "");
  return baseline;
}

Baseline Baseline::of_launches(const std::string& system, const Launches& launches) {
  Baseline baseline;
  baseline.system_ = system;
  for (const SharedRow& row : launches.rows) baseline.add(row, "");
  return baseline;
}

void Baseline::add(SharedRow row, std::string environment) {
  rows_of_work_[work_of(row)].push_back(rows_.size());
  rows_.push_back(std::move(row));
  environments_.push_back(std::move(environment));
}

Baseline Baseline::where(const std::string& parameter, const std::string& value) const {
  Baseline part;
  part.system_ = system_;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const json& row = rows_[i];
    const json& all = row.at("parameters");
    if (!all.contains(parameter) || all[parameter].is_null() || shown(all[parameter]) != value)
      continue;
    part.add(rows_[i], environments_[i]);
  }
  return part;
}

std::vector<std::size_t> Baseline::of_same_problem(const json& row) const {
  std::pair<std::string, std::string> work = work_of(row);
  std::vector<std::size_t> found;
  const auto add = [&] {
    if (const auto rows = rows_of_work_.find(work); rows != rows_of_work_.end())
      found.insert(found.end(), rows->second.begin(), rows->second.end());
  };
  add();
  if (!found.empty()) return found;
  for (const json& name : row.value("names", json::array())) {
    work.second = within_list(name.get<std::string>());
    add();
  }
  return found;
}

std::map<std::string, LaunchGroups> Baseline::same_work(const json& row,
                                                        const std::vector<std::size_t>& candidates,
                                                        std::string& reason) const {
  std::map<std::string, LaunchGroups> ids;
  for (const std::size_t i : candidates) {
    const json& base = rows_[i];
    const std::string other = difference(row, base);
    if (!other.empty())
      reason = reason.empty() ? other : reason;
    else if (base.contains("incomparable") && !of_one_source(row, base))
      reason = base["incomparable"];
    else
      ids[base["id"]].add(rows_[i], environments_[i]);
  }
  return ids;
}

json Baseline::match(const json& row, std::string* why, Preference preference) const {
  const auto no_match = [&](const std::string& reason) {
    if (why != nullptr) *why = reason;
    return json(nullptr);
  };
  if (row.at("status") != "ok")
    return no_match(fmt::format("the row is {}", row.at("status").get<std::string>()));
  if (row.at("time_s").is_object() && !(row["time_s"].at("median").get<double>() > 0))
    return no_match("the row's time is below the resolution of the timer");
  const std::vector<std::size_t> same_problem = of_same_problem(row);
  if (same_problem.empty()) return no_match(fmt::format("{} has no row of this problem", system_));

  std::string reason;
  const auto ids = same_work(row, same_problem, reason);
  const std::optional<Candidate> best = best_candidate(row, ids, preference, reason);
  if (!best) return no_match(fmt::format("{}: {}", system_, reason));
  const json& base = best->launches.first();
  const std::string base_algorithm = algorithm(base);
  const std::vector<std::string> notes = notes_of(row, *best);
  if (why != nullptr) why->clear();
  json match{{"system", system_},
             {"value", best->numbers.base},
             {"unit", best->numbers.unit},
             {"speedup", best->numbers.speedup()},
             {"published", best->launches.published},
             {"citation", base.contains("citation") ? base["citation"] : json(nullptr)},
             {"algorithm", base_algorithm.empty() ? json(nullptr) : json(base_algorithm)},
             {"note", notes.empty() ? json(nullptr) : json(join(notes, "; "))}};
  if (base.contains("projection")) match["projection"] = true;
  if (const std::vector<std::string> left = left_to_the_name(row, base); !left.empty())
    match["not_given"] = left;
  const std::string mark = mark_of(best->launches);
  if (mark == shared_mark || mark == throttled_mark)
    match[mark == shared_mark ? "shared" : "throttled"] = true;
  if (const json remark = base.value("printed", json::object()).value("reason", json());
      remark.is_string())
    match["remark"] = remark;
  apply_printed_ratio(match, row, base, system_);
  return match;
}

void add_baseline(json& row, const std::vector<Baseline>& baselines) {
  std::vector<std::string> reasons;
  for (const Baseline& baseline : baselines) {
    std::string why;
    if (json match = baseline.match(row, &why); !match.is_null()) {
      row["baseline"] = std::move(match);
      row["baseline_reason"] = nullptr;
      return;
    }
    // The reason names the system where it depends on it.
    if (std::find(reasons.begin(), reasons.end(), why) == reasons.end()) reasons.push_back(why);
  }
  if (!reasons.empty()) row["baseline_reason"] = join(reasons, "; ");
}

std::vector<std::string> baseline_names() { return json_names(baselines_folder()); }

}  // namespace assay
