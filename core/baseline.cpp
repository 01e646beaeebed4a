#include "core/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/error.hpp"
#include "core/plugins.hpp"
#include "core/result.hpp"
#include "core/schema.hpp"
#include "core/statistics.hpp"
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

/// One series of the baseline: the rows of an id. Several launches have a median; of what is
/// published the best one is quoted.
struct Series {
  const json* row = nullptr;
  double seconds = 0;
};

Series series_of(const std::vector<const json*>& rows) {
  const auto seconds = [](const json* row) { return (*row)["time_s"]["median"].get<double>(); };
  Series one;
  one.row = *std::min_element(rows.begin(), rows.end(), [&](const json* a, const json* b) {
    return seconds(a) < seconds(b);
  });
  one.seconds = seconds(one.row);
  if (one.row->value("published", false)) return one;
  std::vector<double> all;
  for (const json* row : rows) all.push_back(seconds(row));
  one.seconds = median(all);
  return one;
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
  for (json& row : document["rows"]) baseline.rows_.push_back(std::move(row));
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

  std::map<std::string, std::vector<const json*>> series;
  bool knows_problem = false;
  for (const json& base : rows_) {
    if (base["benchmark"] != row.at("benchmark") ||
        base["problem"]["descriptor"] != row.at("problem").at("descriptor"))
      continue;
    knows_problem = true;
    const std::string other = difference(row, base);
    if (!other.empty()) {
      reason = reason.empty() ? other : reason;
    } else if (base.contains("incomparable")) {
      reason = base["incomparable"];
    } else if (base["status"] != "ok") {
      reason = fmt::format("its row is {}", base["status"].get<std::string>());
    } else if (!(base["time_s"]["median"].get<double>() > 0)) {
      reason = "its time is below the clock's resolution";
    } else {
      series[base["id"]].push_back(&base);
    }
  }
  if (!knows_problem) return none(fmt::format("{} has no row of this problem", system_));
  if (series.empty()) return none(fmt::format("{}: {}", system_, reason));

  Series best;
  bool best_is_same = false;
  for (const auto& [id, rows] : series) {
    const Series one = series_of(rows);
    const bool same = same_algorithm(row, *one.row);
    if (best.row == nullptr || (same && !best_is_same) ||
        (same == best_is_same && one.seconds < best.seconds)) {
      best = one;
      best_is_same = same;
    }
  }
  const bool published = best.row->value("published", false);
  const std::string its = algorithm(*best.row);
  std::vector<std::string> notes;
  if (published) notes.push_back("published, not measured: no interval");
  if (its != algorithm(row) && !its.empty())
    notes.push_back(fmt::format("another algorithm: {} there, {} here", its, algorithm(row)));
  const json their_backend = parameter(*best.row, "backend"),
             my_backend = parameter(row, "backend");
  if (!their_backend.is_null() && their_backend != my_backend)
    notes.push_back(fmt::format("by {}", their_backend.get<std::string>()));
  if (why != nullptr) why->clear();
  return {{"system", system_},
          {"value", best.seconds},
          {"unit", "s"},
          {"speedup", best.seconds / mine},
          {"published", published},
          {"citation", best.row->contains("citation") ? (*best.row)["citation"] : json(nullptr)},
          {"algorithm", its.empty() ? json(nullptr) : json(its)},
          {"note", notes.empty() ? json(nullptr) : json(join(notes, "; "))}};
}

std::vector<std::string> baseline_names() { return json_names(baselines_folder()); }

}  // namespace assay
