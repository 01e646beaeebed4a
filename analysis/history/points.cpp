#include "analysis/history/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analysis/series.hpp"
#include "core/base/error.hpp"
#include "core/result/result.hpp"
#include "core/result/result_check.hpp"

namespace assay {

using nlohmann::json;

namespace {

struct Run {
  std::string id, when, name;  ///< name: the result file
  double time = 0;
};

/// The run of a result and its time; nothing for published numbers, which were not run.
std::optional<Run> run_of(const NamedResult& named, double now) {
  const json& run = named.result.at("run");
  if (!run.at("started").is_string()) return std::nullopt;
  const std::string shown = shown_name(named);
  Run made{run.at("id"), run.at("started"), shown, 0};
  made.time = time_of(made.when, shown + " at /run/started");
  // A run in the future would be the latest of its series until that time, and would come after all
  // runs made until then.
  if (made.time > now + clock_slack)
    throw InputError(
        fmt::format("{} at /run/started: found {}, which is in the future (the clock of that "
                    "machine or of this machine is wrong). Remove the run from the history, or "
                    "repeat it.",
                    shown, made.when));
  const json& finished = run.at("finished");
  if (finished.is_string() && time_of(finished, shown + " at /run/finished") < made.time)
    throw InputError(
        fmt::format("{} at /run/finished: found {}, before /run/started {} (the clock went "
                    "backwards). Remove the run from the history, or repeat it.",
                    shown, finished.get<std::string>(), made.when));
  return made;
}

/// The library that `--blas auto` has found: the first word of its version ("OpenBLAS"), or the
/// name of its file without version. "" for rows that name one or use none, and where it is
/// unknown. An update is the same library.
std::string found_library(const json& row, const json& software) {
  const json& parameters = row.at("parameters");
  if (text_of(parameters, "backend") != "blas" || parameters.value("blas", "auto") != "auto")
    return "";
  const json libraries = software.value("libraries", json::object());
  const std::string version = text_of(libraries.value("blas", json::object()), "version");
  const std::string word = version.substr(0, version.find(' ')),
                    file = word.substr(word.rfind('/') + 1);
  return file.substr(0, file.find(".so"));
}

class Collector {
 public:
  explicit Collector(Histories& into) : into_(into) {}

  void add(const NamedResult& named, const Run& run, const std::optional<Pattern>& rows) {
    std::map<std::string, LaunchGroups> ids;
    bool published = false;
    for (const json& row : named.result.at("rows")) {
      const std::string id = row.at("id");
      if (rows && !rows->in(id)) continue;
      if (row.value("published", false)) {
        published = true;
        continue;
      }
      ids[id].add(SharedRow::in(row), environment_key(named.result, row));
    }
    if (published)
      into_.passed_over.emplace_back(run.name,
                                     "published numbers are not measurements of this run");
    for (const auto& [id, groups] : ids) {
      std::map<std::string, std::vector<Launches>> machines;
      for (Launches& launches : groups.summarized()) {
        const json hardware = environment_of(named.result, launches).at("hashes").at("hardware");
        if (hardware.is_string())
          machines[hardware].push_back(std::move(launches));
        else
          into_.passed_over.emplace_back(fmt::format("{}: {}", run.name, id),
                                         "its hardware is unknown (no hash)");
      }
      for (const auto& [hardware, all] : machines) {
        add_run(named.result, run, id, hardware, all);
        seen_[{id, hardware}] = {run.id, whole_suite(named.result)};
      }
    }
    note_missing(named.result, run);
  }

 private:
  /// Name and hash of the suite, if the run has all of its cases, else "".
  static std::string whole_suite(const json& result) {
    const json& run = result.at("run");
    if (!run.value("filter", json()).is_null() && run["filter"] != "") return "";
    if (!run.value("cases", json::array()).empty() || !run.at("suite").is_string()) return "";
    return run["suite"].get<std::string>() + " " + run.value("suite_hash", json()).dump();
  }

  /// Adds a gap where an earlier run of the same suite on the same machine has a row that this run
  /// does not (for example because an update removed a backend). The row must not look steady.
  void note_missing(const json& result, const Run& run) {
    const std::string suite = whole_suite(result);
    if (suite.empty()) return;
    std::set<std::string> machines;
    for (const json& environment : result.at("environments"))
      if (const json& hash = environment.at("hashes").at("hardware"); hash.is_string())
        machines.insert(hash);
    for (const auto& [key, last] : seen_)
      if (last.second == suite && last.first != run.id && machines.contains(key.second))
        into_.series[index_.at(key)].gaps.push_back(
            {run.time, run.when, run.id, "missing",
             "the run does not have this row, although suite and machine are the same"});
  }

  static const json& environment_of(const json& result, const Launches& launches) {
    return result.at("environments").at(launches.first().at("environment").get<std::size_t>());
  }

  RowHistory& series_of(const json& result, const std::string& id, const std::string& hardware,
                        const json& row) {
    auto [entry, added] = index_.try_emplace({id, hardware}, into_.series.size());
    if (added) {
      RowHistory& made = into_.series.emplace_back();
      made.id = id;
      made.hardware = hardware;
      made.benchmark = row.at("benchmark");
      made.descriptor = row.at("problem").at("descriptor");
    }
    RowHistory& series = into_.series[entry->second];
    // Runs are added by time, so these are the names of the last run.
    series.system = result.at("system").at("name");
    series.names = row.at("names");
    if (row.contains("tolerance")) series.tolerance = row["tolerance"].get<double>();
    return series;
  }

  void add_run(const json& result, const Run& run, const std::string& id,
               const std::string& hardware, const std::vector<Launches>& all) {
    const Launches& first = all.front();
    RowHistory& series = series_of(result, id, hardware, first.first());
    const std::string descriptor = first.first().at("problem").at("descriptor");
    if (descriptor != series.descriptor || first.first().at("benchmark") != series.benchmark)
      throw InputError(
          fmt::format("{}: row {} has problem {} here and {} in an earlier run (the times of the "
                      "two problems cannot be compared). Put the runs into separate folders.",
                      run.name, id, descriptor, series.descriptor));
    if (all.size() > 1) {
      series.gaps.push_back(
          {run.time, run.when, run.id, "ambiguous",
           fmt::format("{} different sets of software in the run, so there is no single result",
                       all.size())});
      return;
    }
    if (first.status != "ok" || !(first.median > 0)) {
      const bool zero = first.status == "ok";
      series.gaps.push_back(
          {run.time, run.when, run.id, zero ? "failed" : first.status,
           zero ? "its time is 0: below the resolution of the timer" : first.reason});
      return;
    }
    if (!series.points.empty() && series.points.back().time >= run.time)
      throw InputError(
          fmt::format("{}: its run {} started at {}, as did run {} of the same series {} (a clock "
                      "went backwards, or a file was copied). Remove one of the two.",
                      run.name, run.id, run.when, series.points.back().run, id));
    const json& environment = environment_of(result, first);
    const std::string before = series.points.empty() ? "" : series.points.back().library;
    std::string library = found_library(first.first(), environment.at("software"));
    if (library.empty()) library = before;
    if (!before.empty() && library != before) {
      series.gaps.push_back(
          {run.time, run.when, run.id, "missing",
           fmt::format("--blas auto found {} there, and {} before: install that one again, or "
                       "accept the loss and name a library with --blas, which makes another row",
                       library, before)});
      return;
    }
    Point point{run.time,
                run.when,
                run.id,
                first.median,
                std::nullopt,
                first.medians.size(),
                environment.at("hashes").at("software"),
                environment.at("software"),
                std::any_of(first.rows.begin(), first.rows.end(), was_shared),
                std::any_of(first.rows.begin(), first.rows.end(), was_throttled),
                text_of(result.at("run"), "programs"),
                run.name,
                std::move(library),
                statistics_of(result.at("run"))};
    if (first.medians.size() > 1) point.spread = median_interval(first.medians);
    series.points.push_back(std::move(point));
  }

  Histories& into_;
  std::map<std::pair<std::string, std::string>, std::size_t> index_;
  /// By id and hardware: the last run with the row, and the suite that it ran completely.
  std::map<std::pair<std::string, std::string>, std::pair<std::string, std::string>> seen_;
};

/// Leaves each series the points that have the statistics of its last one: other estimators give
/// other numbers for the same samples, which would look like a step.
void keep_one_statistics(Histories& all) {
  std::map<std::string, std::string> left;  // by file
  for (RowHistory& series : all.series)
    std::erase_if(series.points, [&, last = series.points.empty()
                                                ? 1
                                                : series.points.back().statistics](
                                     const Point& point) {
      if (point.statistics == last) return false;
      left[point.file] = fmt::format(
          "its times have version {} of the statistics, those of the last run version {}, so they "
          "cannot be compared; a baseline that was promoted from them does not count",
          point.statistics, last);
      return true;
    });
  all.passed_over.insert(all.passed_over.end(), left.begin(), left.end());
}

}  // namespace

std::string shown_name(const NamedResult& result) {
  return result.name.empty() ? "the result" : result.name;
}

Histories histories_of(const std::vector<NamedResult>& results, const std::optional<Pattern>& rows,
                       std::optional<double> since, double now, const std::string& last) {
  Histories made;
  std::vector<std::pair<Run, const NamedResult*>> runs;
  std::map<std::string, std::string> names;  // run id → file
  for (const NamedResult& named : results) {
    const std::optional<Run> run = run_of(named, now);
    if (!run) {
      made.passed_over.emplace_back(shown_name(named), "its run has no time (run.started is null)");
      continue;
    }
    const auto [earlier, added] = names.emplace(run->id, run->name);
    if (!added)
      throw InputError(fmt::format(
          "{} and {} are both results of run {} (it would count twice). Remove one of the "
          "two.",
          earlier->second, run->name, run->id));
    if (!since || run->time >= *since) runs.emplace_back(*run, &named);
  }
  double end = 0;
  for (const auto& [run, named] : runs)
    if (run.id != last) end = std::max(end, run.time);
  for (auto& [run, named] : runs)
    if (run.id == last) run.time = std::max(run.time, std::nextafter(end, INFINITY));
  std::stable_sort(runs.begin(), runs.end(),
                   [](const auto& a, const auto& b) { return a.first.time < b.first.time; });
  Collector collector(made);
  for (const auto& [run, named] : runs) collector.add(*named, run, rows);
  keep_one_statistics(made);
  std::sort(made.series.begin(), made.series.end(), [](const RowHistory& a, const RowHistory& b) {
    return std::tie(a.id, a.hardware) < std::tie(b.id, b.hardware);
  });
  return made;
}

}  // namespace assay
