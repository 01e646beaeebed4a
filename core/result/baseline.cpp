#include "core/result/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/base/error.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/result/launches.hpp"
#include "core/result/result.hpp"
#include "core/result/schema.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path baselines_folder() { return data_folder("results-schema") / "baselines"; }

/// How and where the work was done may differ between two systems, and so may the name by which a
/// model knows it; everything else in "parameters" defines the work.
bool says_how(const std::string& parameter) {
  static constexpr std::array how{"backend", "algorithm", "threads",      "layout",    "device",
                                  "blas",    "transport", "architecture", "framework", "tuning",
                                  "smt",     "system",    "workload"};
  return std::find(how.begin(), how.end(), parameter) != how.end();
}

/// A value that was not given: one rank on one node, buffers in use again and again.
json assumed(const std::string& parameter) {
  if (parameter == "ranks" || parameter == "nodes") return 1;
  if (parameter == "cache") return "hot";
  return nullptr;
}

/// null where somebody else's row says that its source does not tell.
json parameter(const json& row, const std::string& name) {
  const json& all = row.at("parameters");
  if (all.contains(name) && (!all[name].is_null() || row.value("published", false)))
    return all[name];
  return assumed(name);
}

/// What ran, else what was asked for.
std::string algorithm(const json& row) {
  const json& executed = row.contains("executed") ? row["executed"] : json();
  if (executed.is_object() && executed.contains("algorithm") && executed["algorithm"].is_string())
    return executed["algorithm"];
  const json asked = parameter(row, "algorithm");
  return asked.is_string() ? asked.get<std::string>() : "";
}

/// The same algorithm and framework over the same transport with the same SMT: preferred where
/// there is a choice.
constexpr std::array same_ways{"transport", "smt", "framework", "tuning"};
bool same_way(const json& a, const json& b) {
  for (const char* name : same_ways)
    if (parameter(a, name) != parameter(b, name)) return false;
  const json asked = parameter(a, "algorithm");
  return (!asked.is_null() && asked == parameter(b, "algorithm")) || algorithm(a) == algorithm(b);
}

/// Ranks share the work of a problem that is given as a whole (its size), else each has its own; a
/// source that does not tell its ranks tells its nodes.
bool ranks_may_differ(const json& row, const json& base) {
  return (row.at("problem").contains("size") && base.at("problem").contains("size")) ||
         parameter(row, "ranks").is_null() || parameter(base, "ranks").is_null();
}

std::string shown(const json& value) {
  if (value.is_null()) return "not given";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// The first field of the work in which the rows differ, or "".
std::string difference(const json& row, const json& base) {
  const auto told = [](const std::string& name, const json& mine, const json& its) {
    return fmt::format("{} is {} here and {} there", name, shown(mine), shown(its));
  };
  std::vector<std::string> names;
  for (const json* one : {&row, &base})
    for (const auto& [name, value] : (*one)["parameters"].items())
      if (!says_how(name) && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  for (const std::string& name : names)
    if (parameter(row, name) != parameter(base, name) &&
        !(name == "ranks" && ranks_may_differ(row, base)))
      return told(name, parameter(row, name), parameter(base, name));
  // A rate or an efficiency would not mean the same if the work were counted otherwise, or came in
  // other batches.
  for (const auto& [key, name] : {std::pair{"flops", "the FLOP count"},
                                  std::pair{"global_batch_size", "the global batch size"}}) {
    const json none, mine = row.at("problem").value(key, none),
                     its = base.at("problem").value(key, none);
    if (mine.is_number() && its.is_number() && mine.get<double>() != its.get<double>())
      return told(name, mine, its);
  }
  return "";
}

/// Whether a row that is incomparable with others may stand beside this one: both of one source.
bool of_one_source(const json& row, const json& base) {
  return row.contains("comparable_within") && base.contains("comparable_within") &&
         row["comparable_within"] == base["comparable_within"];
}

/// What a row computed: the key by which it is found.
std::pair<std::string, std::string> work_of(const json& row) {
  return {row.at("benchmark"), row.at("problem").at("descriptor")};
}

/// Two numbers with one unit: seconds where both have them, else a rate that both have.
struct Pair {
  std::string unit;  ///< "" where there is none
  double mine = 0, its = 0;
  double speedup() const { return unit == "s" ? its / mine : mine / its; }
};

Pair common_unit(const json& row, const Launches& base) {
  if (base.status == "ok" && row.at("time_s").is_object())
    return {"s", row["time_s"].at("median"), base.median};
  const json rates = row.value("rates", json::object());
  for (const auto& [name, value] : base.first().at("rates").items())
    if (value.is_number() && rates.contains(name) && rates[name].is_number())
      return {name, rates[name], value};
  return {};
}

/// The ratio (this row's time over that system's) that a source prints, where it does not follow
/// from the numbers that it prints: those were rounded, the ratio was not made of them.
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

}  // namespace

fs::path baseline_file(const std::string& file_or_name) {
  std::error_code missing;
  if (fs::exists(file_or_name, missing)) return file_or_name;
  const std::vector<std::string> names = baseline_names();
  if (std::find(names.begin(), names.end(), file_or_name) == names.end())
    throw InputError(unknown_name("baseline", file_or_name, names) +
                     " A baseline is a result file or the name of one in " +
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
    baseline.add(std::move(row), std::move(environment));
  }
  return baseline;
}

Baseline Baseline::of(const std::string& system, const std::vector<json>& rows) {
  Baseline baseline;
  baseline.system_ = system;
  for (const json& row : rows) baseline.add(row, "");
  return baseline;
}

void Baseline::add(json row, std::string environment) {
  places_[work_of(row)].push_back(rows_.size());
  rows_.push_back(std::move(row));
  environments_.push_back(std::move(environment));
}

Baseline Baseline::where(const std::string& parameter, const std::string& value) const {
  Baseline part;
  part.system_ = system_;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const json& all = rows_[i].at("parameters");
    if (!all.contains(parameter) || all[parameter].is_null() || shown(all[parameter]) != value)
      continue;
    part.add(rows_[i], environments_[i]);
  }
  return part;
}

json Baseline::match(const json& row, std::string* why) const {
  std::string reason;
  const auto none = [&](const std::string& text) {
    if (why != nullptr) *why = text;
    return json(nullptr);
  };
  if (row.at("status") != "ok")
    return none(fmt::format("the row is {}", row.at("status").get<std::string>()));
  if (row.at("time_s").is_object() && !(row["time_s"].at("median").get<double>() > 0))
    return none("the row's time is below the clock's resolution");

  const auto known = places_.find(work_of(row));
  if (known == places_.end()) return none(fmt::format("{} has no row of this problem", system_));
  std::map<std::string, LaunchGroups> ids;
  for (const std::size_t i : known->second) {
    const json& base = rows_[i];
    const std::string other = difference(row, base);
    if (!other.empty())
      reason = reason.empty() ? other : reason;
    else if (base.contains("incomparable") && !of_one_source(row, base))
      reason = base["incomparable"];
    else
      ids[base["id"]].add(base, environments_[i]);
  }

  Launches best;
  Pair best_pair;
  bool best_is_same = false;
  std::size_t environments = 1;  // in which the id that is quoted ran
  for (const auto& [id, groups] : ids) {
    const std::vector<Launches> all = groups.summarized();
    for (const Launches& one : all) {
      // All launches of an id count: one wrong launch leaves no number to compare with.
      if (one.status != "ok" && one.rate_name.empty()) {
        reason = fmt::format("its row is {} ({})", one.status, one.reason);
        continue;
      }
      if (one.status == "ok" && !(one.median > 0)) {
        reason = "its time is below the clock's resolution";
        continue;
      }
      const Pair pair = common_unit(row, one);
      if (pair.unit.empty()) {
        reason = fmt::format(
            "no common unit: {} there, {} here", one.rate_name.empty() ? "seconds" : one.rate_name,
            row.at("time_s").is_object() ? "seconds and no such rate" : "another rate");
        continue;
      }
      const bool same = same_way(row, one.first());
      if (best.rows.empty() || (same && !best_is_same) ||
          (same == best_is_same && pair.speedup() < best_pair.speedup())) {
        best = one;
        best_pair = pair;
        best_is_same = same;
        environments = all.size();
      }
    }
  }
  if (best.rows.empty()) return none(fmt::format("{}: {}", system_, reason));
  const json& base = best.first();
  const bool published = best.published;
  const std::string its = algorithm(base);
  std::vector<std::string> notes;
  if (published) notes.push_back("published, not measured: no interval");
  if (its != algorithm(row) && !its.empty())
    notes.push_back(fmt::format("another algorithm: {} there, {} here", its, algorithm(row)));
  const json their_backend = parameter(base, "backend"), my_backend = parameter(row, "backend");
  if (!their_backend.is_null() && their_backend != my_backend)
    notes.push_back(fmt::format("by {}", their_backend.get<std::string>()));
  for (const char* name : same_ways)
    if (const json theirs = parameter(base, name), mine = parameter(row, name); theirs != mine)
      notes.push_back(fmt::format("{} is {} there, {} here", name, shown(theirs), shown(mine)));
  if (row.at("problem").contains("global_batch_size") !=
      base["problem"].contains("global_batch_size"))
    notes.push_back("the batch of one side is not given");
  if (environments > 1)
    notes.push_back(fmt::format("one of the {} environments in which it ran", environments));
  double speedup = best_pair.speedup();
  json printed = contradicting_ratio(row, base, system_, speedup > 0 ? 1 / speedup : 0);
  bool mine_over_its = true;
  if (printed.is_null()) {
    printed = contradicting_ratio(base, row, "", speedup);
    mine_over_its = false;
  }
  if (why != nullptr) why->clear();
  json match{{"system", system_},
             {"value", best_pair.its},
             {"unit", best_pair.unit},
             {"speedup", speedup},
             {"published", published},
             {"citation", base.contains("citation") ? base["citation"] : json(nullptr)},
             {"algorithm", its.empty() ? json(nullptr) : json(its)},
             {"note", notes.empty() ? json(nullptr) : json(join(notes, "; "))}};
  if (printed.is_object()) {
    const double ratio = printed.at("value");
    match["speedup"] = mine_over_its ? 1 / ratio : ratio;
    match["ratio_printed"] = printed.at("text");
  }
  return match;
}

std::vector<std::string> baseline_names() { return json_names(baselines_folder()); }

}  // namespace assay
