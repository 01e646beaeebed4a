#include "analysis/history/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/base/numbers.hpp"

namespace assay {

namespace {

struct Run {
  const NamedResult* result;
  std::string name;          ///< the result file
  double time = 0, end = 0;  ///< seconds since 1970
  const RunHeader& header() const { return result->run(); }
  const std::string& id() const { return header().id; }
  const std::string& when() const { return *header().started; }
  const std::string& host() const { return result->environments().at(0).host; }
};

/// The run of a result and its times; nothing for published numbers, which were not run.
std::optional<Run> read_run(const NamedResult& result) {
  Run run{&result, name_result(result)};
  if (!run.header().started) return std::nullopt;
  run.time = run.end = parse_time(run.when(), run.name + " at /run/started");
  if (const auto& finished = run.header().finished)
    run.end = parse_time(*finished, run.name + " at /run/finished");
  return run;
}

void check_times(const Run& run, double now) {
  // A run in the future would be the latest of its series until then, and would come after all runs
  // made until then.
  if (run.time > now + clock_slack)
    throw InputError(
        fmt::format("{} at /run/started: found {}, which is in the future (the clock of that "
                    "machine or of this machine is wrong). Remove the run from the history, or "
                    "repeat it.",
                    run.name, run.when()));
  if (run.end < run.time)
    throw InputError(
        fmt::format("{} at /run/finished: found {}, before /run/started {} (the clock went "
                    "backwards). Remove the run from the history, or repeat it.",
                    run.name, *run.header().finished, run.when()));
}

/// The library that `--blas auto` has found: the first word of its version ("OpenBLAS"), or the
/// name of its file without version. "" for rows that name a library or use none, and if it is
/// unknown. An updated library counts as the same library.
std::string find_library(const Row& row, const nlohmann::json& software) {
  const std::string blas = row.parameter("blas");
  if (row.parameter("backend") != "blas" || (blas != "auto" && !blas.empty())) return "";
  static const nlohmann::json::json_pointer place("/libraries/blas/version");
  if (!software.contains(place) || !software[place].is_string()) return "";
  const std::string version = software[place];
  const std::string word = version.substr(0, version.find(' ')),
                    file = word.substr(word.rfind('/') + 1);
  return file.substr(0, file.find(".so"));
}

/// Name and hash of the suite, if the run has all of its cases, else "".
std::string whole_suite(const RunHeader& run) {
  const RunSettings settings = run.settings.value_or(RunSettings());
  const bool whole = settings.filter.empty() && settings.cases.empty() && !run.suite.empty();
  return whole ? run.suite + " " + settings.suite_hash : "";
}

class Collector {
 public:
  explicit Collector(History& history) : history_(history) {}

  void add(const Run& run, const std::optional<TextPattern>& pattern) {
    const NamedResult& result = *run.result;
    std::map<std::string, LaunchGroups> ids;
    bool published = false;
    for (const Row& row : result.rows()) {
      if (pattern && !pattern->in(row.id)) continue;
      published = published || row.published;
      if (!row.published) ids[row.id].add(SharedRow::in(row), result.environment(row).key());
    }
    if (published)
      history_.passed_over.push_back(
          {run.name, "published numbers are not measurements of this run"});
    for (const auto& [id, groups] : ids) {
      std::map<std::string, std::vector<Launches>> machines;
      for (Launches& launches : groups.summarize()) {
        const std::string& hardware = result.environment(launches.first()).hashes.hardware;
        if (hardware.empty())
          history_.passed_over.push_back(
              {fmt::format("{}: {}", run.name, id), "its hardware is unknown (no hash)"});
        else
          machines[hardware].push_back(std::move(launches));
      }
      for (const auto& [hardware, all] : machines) {
        RowHistory& series = find_series(run, hardware, all.front().first());
        if (all.size() > 1)
          add_gap(series, run, "ambiguous",
                  fmt::format("{} different sets of software in the run, so there is no single "
                              "result",
                              all.size()));
        else
          add_launches(series, run, all.front());
        seen_[{id, hardware}] = {run.id(), whole_suite(run.header())};
      }
    }
    note_missing(run);
  }

 private:
  static void add_gap(RowHistory& series, const Run& run, const std::string& status,
                      const std::string& reason) {
    series.gaps.push_back({run.time, run.when(), run.id(), status, reason});
  }

  /// Adds a gap if an earlier run of the same suite on the same machine has a row that this run
  /// lacks (for example because an update removed a backend). The row must not look steady.
  void note_missing(const Run& run) {
    const std::string suite = whole_suite(run.header());
    if (suite.empty()) return;
    std::set<std::string> machines;
    for (const ResultEnvironment& environment : run.result->environments())
      machines.insert(environment.hashes.hardware);
    for (const auto& [key, last] : seen_)
      if (last.second == suite && last.first != run.id() && machines.contains(key.second))
        add_gap(history_.series[index_.at(key)], run, "missing",
                "the run does not have this row, although suite and machine are the same");
  }

  RowHistory& find_series(const Run& run, const std::string& hardware, const Row& row) {
    const std::string& descriptor = row.problem.descriptor;
    const auto [entry, added] = index_.try_emplace({row.id, hardware}, history_.series.size());
    if (added) history_.series.push_back({row.id, row.benchmark, descriptor, hardware});
    RowHistory& series = history_.series[entry->second];
    if (descriptor != series.descriptor || row.benchmark != series.benchmark)
      throw InputError(
          fmt::format("{}: row {} has problem {} here and {} in an earlier run (the times of the "
                      "two problems cannot be compared). Put the runs into separate folders.",
                      run.name, row.id, descriptor, series.descriptor));
    // Runs are added in the order of time, so the last run decides these names.
    series.system = run.result->system();
    series.names = row.names;
    if (row.tolerance) series.tolerance = row.tolerance;
    return series;
  }

  static void add_launches(RowHistory& series, const Run& run, const Launches& launches) {
    if (launches.status != "ok") return add_gap(series, run, launches.status, launches.reason);
    if (!(launches.median > 0))
      return add_gap(series, run, "failed", "its time is 0: below the resolution of the timer");
    const Point* last = series.points.empty() ? nullptr : &series.points.back();
    if (last != nullptr && last->time >= run.time)
      throw InputError(
          fmt::format("{}: its run {} started at {}, as did run {} of the same series {} (a clock "
                      "went backwards, or a file was copied). Remove one of the two.",
                      run.name, run.id(), run.when(), last->run, series.id));
    const std::string before = last == nullptr ? "" : last->library;
    const ResultEnvironment& environment = run.result->environment(launches.first());
    std::string library = find_library(launches.first(), environment.software);
    if (library.empty()) library = before;
    if (!before.empty() && library != before)
      return add_gap(
          series, run, "missing",
          fmt::format("--blas auto found {} there, and {} before: install that one again, or "
                      "accept the loss and name a library with --blas, which makes another row",
                      library, before));
    Point& point = series.points.emplace_back();
    point = {run.time, run.when(), run.id(), launches.median};
    point.launches = launches.medians.size();
    if (point.launches > 1) {
      const Interval spread = compute_median_interval(launches.medians);
      point.low = spread.low, point.high = spread.high;
    }
    point.software_hash = environment.hashes.software;
    point.software = environment.software;
    point.shared = any_launch(launches, was_shared);
    point.throttled = any_launch(launches, was_throttled);
    point.programs = run.header().settings ? run.header().settings->programs : "";
    point.file = run.name;
    point.library = library;
    point.statistics = run.header().statistics;
  }

  using Key = std::pair<std::string, std::string>;  ///< id and hardware
  History& history_;
  std::map<Key, std::size_t> index_{};
  /// The last run with the row, and the suite that was run completely in it.
  std::map<Key, std::pair<std::string, std::string>> seen_{};
};

/// Keeps the points of each series that have the statistics of its last point, because other
/// estimators give other numbers for the same samples, which would look like a step.
void keep_one_statistics(History& history) {
  std::map<std::string, std::string> removed;  // by file
  for (RowHistory& series : history.series) {
    const int last = series.points.empty() ? 1 : series.points.back().statistics;
    std::erase_if(series.points, [&](const Point& point) {
      if (point.statistics == last) return false;
      removed[point.file] = fmt::format(
          "its times have version {} of the statistics, those of the last run version {}, so they "
          "cannot be compared; a baseline that was promoted from them does not count",
          point.statistics, last);
      return true;
    });
  }
  for (const auto& [file, reason] : removed) history.passed_over.push_back({file, reason});
}

}  // namespace

std::string RowHistory::describe_reason() const {
  if (verdict.state != "suspect") return verdict.reason;
  return verdict.reason +
         (confirmation ? ": --confirm answers " + confirmation->answer : ": --confirm decides");
}

const Gap* RowHistory::last_gap() const {
  if (gaps.empty() || (!points.empty() && points.back().time > gaps.back().time)) return nullptr;
  return &gaps.back();
}

std::size_t History::count(const std::string& state) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      series, [&](const RowHistory& row) { return row.verdict.state == state; }));
}

std::string name_result(const NamedResult& result) {
  return result.name.empty() ? "the result" : result.name;
}

History collect_history(const Results& results, const std::optional<TextPattern>& rows,
                        std::optional<double> since, double now, const std::string& last) {
  History history;
  std::vector<Run> runs;
  std::map<std::string, std::string> names;  // by the run's id
  for (const NamedResult& result : results) {
    std::optional<Run> run = read_run(result);
    if (!run) {
      history.passed_over.push_back(
          {name_result(result), "its run has no time (run.started is null)"});
      continue;
    }
    check_times(*run, now);
    const auto [earlier, added] = names.emplace(run->id(), run->name);
    if (!added)
      throw InputError(fmt::format(
          "{} and {} are both results of run {} (it would count twice). Remove one of the two.",
          earlier->second, run->name, run->id()));
    if (!since || run->time >= *since) runs.push_back(*std::move(run));
  }
  double end = 0;
  for (const Run& run : runs)
    if (run.id() != last) end = std::max(end, run.time);
  for (Run& run : runs)
    if (run.id() == last) run.time = std::max(run.time, std::nextafter(end, INFINITY));
  std::ranges::stable_sort(runs, {}, &Run::time);
  Collector collector(history);
  for (const Run& run : runs) collector.add(run, rows);
  keep_one_statistics(history);
  std::ranges::sort(history.series, {},
                    [](const RowHistory& series) { return std::tie(series.id, series.hardware); });
  return history;
}

std::vector<std::string> find_order_doubts(const Results& results, const History& history,
                                           double now) {
  std::map<std::string, Run> all;  // by id
  for (const NamedResult& result : results)
    if (const std::optional<Run> run = read_run(result)) all.emplace(run->id(), *run);
  std::set<std::string> doubts;
  for (const RowHistory& series : history.series) {
    std::set<std::string> ids;
    for (const Point& point : series.points) ids.insert(point.run);
    for (const Gap& gap : series.gaps) ids.insert(gap.run);
    const Run& last = all.at(
        *std::ranges::max_element(ids, {}, [&](const std::string& id) { return all.at(id).time; }));
    if (last.time > now)
      doubts.insert(fmt::format("{} began in the future of this machine's clock ({} on {})",
                                last.name, last.when(), last.host()));
    for (const std::string& id : ids)
      if (const Run& run = all.at(id); run.host() != last.host() && run.end > last.time)
        doubts.insert(fmt::format(
            "{} counts as the last run, since it began last ({} on {}), but {} on {} had not ended "
            "then: only if their clocks agree is this the order",
            last.name, last.when(), last.host(), run.name, run.host()));
  }
  constexpr std::size_t most = 3;  // the nodes of a fleet run at once, each with its own clock
  std::vector<std::string> lines(doubts.begin(), doubts.end());
  if (lines.size() > most) {
    lines.resize(most);
    lines.push_back(fmt::format("... and {} more such runs", doubts.size() - most));
  }
  return lines;
}

double parse_time(const std::string& text, const std::string& where) {
  static const TextPattern form(
      R"((\d{4})-(\d\d)-(\d\d)(?:[Tt](\d\d):(\d\d):(\d\d(?:\.\d{1,9})?)[Zz])?)", "a time");
  if (const auto parts = form.match_groups(text)) {
    const auto number = [&](std::size_t i) {
      return static_cast<unsigned>(parse_number(parts->at(i - 1)).value_or(0));
    };
    const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(number(1))),
                                          std::chrono::month(number(2)),
                                          std::chrono::day(number(3))};
    const double seconds = parse_number(parts->at(5)).value_or(0);  // a date has no seconds
    // A leap second is written as 60.
    if (day.ok() && number(4) < 24 && number(5) < 60 && seconds < 61)
      return static_cast<double>(std::chrono::sys_days(day).time_since_epoch().count()) * 86400 +
             number(4) * 3600 + number(5) * 60 + seconds;
  }
  throw InputError(fmt::format(
      "{}: '{}' is not a date or a time in UTC. Write it like 2026-11-21 or 2026-11-21T07:04:45Z.",
      where, text));
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace assay
