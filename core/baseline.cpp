#include "core/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/error.hpp"
#include "core/launches.hpp"
#include "core/plugins.hpp"
#include "core/result.hpp"
#include "core/schema.hpp"
#include "core/text.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path baselines_folder() { return data_folder("results-schema") / "baselines"; }

/// How the work was done may differ between two systems; everything else in "parameters" defines
/// the work.
bool says_how(const std::string& parameter) {
  static constexpr std::array how{"backend", "algorithm", "threads", "layout",
                                  "device",  "transport", "blas"};
  return std::find(how.begin(), how.end(), parameter) != how.end();
}

/// A value that was not given: one rank on one node, buffers in use again and again.
json assumed(const std::string& parameter) {
  if (parameter == "ranks" || parameter == "nodes") return 1;
  if (parameter == "cache") return "hot";
  return nullptr;
}

json parameter(const json& row, const std::string& name) {
  const json& all = row.at("parameters");
  return all.contains(name) && !all[name].is_null() ? all[name] : assumed(name);
}

/// What ran, else what was asked for.
std::string algorithm(const json& row) {
  const json& executed = row.contains("executed") ? row["executed"] : json();
  if (executed.is_object() && executed.contains("algorithm") && executed["algorithm"].is_string())
    return executed["algorithm"];
  const json asked = parameter(row, "algorithm");
  return asked.is_string() ? asked.get<std::string>() : "";
}

bool same_algorithm(const json& a, const json& b) {
  const json asked = parameter(a, "algorithm");
  return (!asked.is_null() && asked == parameter(b, "algorithm")) || algorithm(a) == algorithm(b);
}

/// The first field of the work in which the rows differ, or "".
std::string difference(const json& row, const json& base) {
  const auto told = [](const std::string& name, const json& mine, const json& its) {
    const auto shown = [](const json& value) {
      return value.is_string() ? value.get<std::string>() : value.dump();
    };
    return fmt::format("{} is {} here and {} there", name, shown(mine), shown(its));
  };
  std::vector<std::string> names;
  for (const json* one : {&row, &base})
    for (const auto& [name, value] : (*one)["parameters"].items())
      if (!says_how(name) && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  for (const std::string& name : names)
    if (parameter(row, name) != parameter(base, name))
      return told(name, parameter(row, name), parameter(base, name));
  // A rate or an efficiency would not mean the same if the work were counted otherwise.
  const json none, mine = row.at("problem").value("flops", none),
                   its = base.at("problem").value("flops", none);
  if (mine.is_number() && its.is_number() && mine.get<double>() != its.get<double>())
    return told("the FLOP count", mine, its);
  return "";
}

}  // namespace

Baseline Baseline::load(const std::string& file_or_name) {
  fs::path file = file_or_name;
  std::error_code missing;
  if (!fs::exists(file, missing)) {
    const std::vector<std::string> names = baseline_names();
    if (std::find(names.begin(), names.end(), file_or_name) == names.end())
      throw InputError(unknown_name("baseline", file_or_name, names) +
                       " A baseline is a result file or the name of one in " +
                       baselines_folder().string() + ".");
    file = baselines_folder() / (file_or_name + ".json");
  }
  json document = read_result(file);
  Baseline baseline;
  baseline.system_ = document["system"]["name"];
  for (json& row : document["rows"]) {
    baseline.environments_.push_back(environment_key(document, row));
    baseline.rows_.push_back(std::move(row));
  }
  return baseline;
}

json Baseline::match(const json& row, std::string* why) const {
  std::string reason;
  const auto none = [&](const std::string& text) {
    if (why != nullptr) *why = text;
    return json(nullptr);
  };
  if (row.at("status") != "ok")
    return none(fmt::format("the row is {}", row.at("status").get<std::string>()));
  const double mine = row.at("time_s").at("median");
  if (!(mine > 0)) return none("the row's time is below the clock's resolution");

  std::map<std::string, LaunchGroups> ids;
  bool knows_problem = false;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const json& base = rows_[i];
    if (base["benchmark"] != row.at("benchmark") ||
        base["problem"]["descriptor"] != row.at("problem").at("descriptor"))
      continue;
    knows_problem = true;
    const std::string other = difference(row, base);
    if (!other.empty())
      reason = reason.empty() ? other : reason;
    else if (base.contains("incomparable"))
      reason = base["incomparable"];
    else
      ids[base["id"]].add(base, environments_[i]);
  }
  if (!knows_problem) return none(fmt::format("{} has no row of this problem", system_));

  Launches best;
  bool best_is_same = false;
  std::size_t environments = 1;  // in which the id that is quoted ran
  for (const auto& [id, groups] : ids) {
    const std::vector<Launches> all = groups.summarized();
    for (const Launches& one : all) {
      // All launches of an id count: one wrong launch leaves no number to compare with.
      if (one.status != "ok") {
        reason = fmt::format("its row is {} ({})", one.status, one.reason);
        continue;
      }
      if (!(one.median > 0)) {
        reason = "its time is below the clock's resolution";
        continue;
      }
      const bool same = same_algorithm(row, one.first());
      if (best.rows.empty() || (same && !best_is_same) ||
          (same == best_is_same && one.median < best.median)) {
        best = one;
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
  if (environments > 1)
    notes.push_back(fmt::format("one of the {} environments in which it ran", environments));
  if (why != nullptr) why->clear();
  return {{"system", system_},
          {"value", best.median},
          {"unit", "s"},
          {"speedup", best.median / mine},
          {"published", published},
          {"citation", base.contains("citation") ? base["citation"] : json(nullptr)},
          {"algorithm", its.empty() ? json(nullptr) : json(its)},
          {"note", notes.empty() ? json(nullptr) : json(join(notes, "; "))}};
}

std::vector<std::string> baseline_names() { return json_names(baselines_folder()); }

}  // namespace assay
