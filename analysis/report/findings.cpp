// Lists the failed, lost and noisy items of all inputs, in groups with reasons.

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

#include "analysis/ratio.hpp"
#include "analysis/report/parts.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

constexpr std::size_t most_items = 200;  ///< items shown of a group; its count includes all

/// If an interval is wider than this fraction of its median, it decides little.
constexpr double wide_interval = 0.1;

/// One of "failed", "lost" and "noisy": its groups, in the order in which they were added.
class Groups {
 public:
  /// `word` is the badge, `what` names the items ("rows of the results"), `section` is where the
  /// page has more.
  void add(const std::string& word, const std::string& what, const std::string& section,
           const std::string& item, const std::string& reason) {
    const auto [place, fresh] = places_.emplace(std::array{word, what, section}, list_.size());
    if (fresh)
      list_.push_back({{"word", word},
                       {"what", what},
                       {"section", section},
                       {"count", 0},
                       {"items", json::array()}});
    json& group = list_[place->second];
    group["count"] = group["count"].get<std::size_t>() + 1;
    if (group["items"].size() < most_items)
      group["items"].push_back({{"name", item}, {"reason", reason}});
  }
  json take() { return std::move(list_); }

 private:
  std::map<std::array<std::string, 3>, std::size_t> places_;
  json list_ = json::array();
};

struct Findings {
  Groups failed, lost, noisy;
};

/// The owner of the series: its host in a fleet, else its system.
std::string find_owner(const ReportInput& input, const Series& series) {
  if (input.fleet.rows.empty()) return name_system(input.results, series);
  return input.results[series.result].environment(series.first()).host;
}

void add_rows(Findings& findings, const ReportInput& input, const SeriesList& all) {
  std::map<std::string, std::set<std::size_t>> runs;  // of each owner
  for (const Series& series : all) runs[find_owner(input, series)].insert(series.result);
  for (const Series& series : all) {
    if (series.published) continue;
    const std::string owner = find_owner(input, series);
    std::vector<std::string> words{series.first().benchmark, series.problem()};
    if (runs.size() > 1 || !input.fleet.rows.empty()) words.insert(words.begin(), owner);
    for (const char* name : {"direction", "precision", "backend", "transport", "algorithm"})
      if (const std::string value = series.parameter(name); !value.empty()) words.push_back(value);
    if (runs[owner].size() > 1) words.push_back("in " + input.results[series.result].name);
    const std::string name = join(words, " ");
    if (series.status == "ok") {
      const auto [low, high] = series.interval;
      if (const std::string mark = choose_mark(series); !mark.empty())
        findings.noisy.add(
            mark,
            mark == shared_mark      ? "rows that were timed while other work wanted the processors"
            : mark == throttled_mark ? "rows whose device was throttled by power or heat"
                                     : "rows with more threads or ranks than processors",
            "rows", name, format_seconds(series.median));
      if (series.has_interval && high - low > wide_interval * series.median)
        findings.noisy.add("wide", "rows whose interval is wider than 10 % of the median", "rows",
                           name,
                           fmt::format("{}: {} to {}", format_seconds(series.median),
                                       format_seconds(low), format_seconds(high)));
    } else if (series.status != "unsupported") {
      findings.failed.add(series.status, "rows of the results", "rows", name, series.reason);
    } else if (lacks_required(series)) {
      findings.failed.add("unsupported", "rows that the suite requires", "rows", name,
                          series.reason);
    }
  }
}

/// An interrupted run lacks the rows that it did not reach.
void add_unfinished(Findings& findings, const Results& results) {
  for (const NamedResult& named : results) {
    const RunHeader run = named.run();
    if (run.started && !run.finished)
      findings.lost.add("unfinished", "runs", "files",
                        run.id + (named.name.empty() ? "" : " in " + named.name),
                        "it was interrupted; rows may be missing (assay run --resume finishes it)");
  }
}

void add(Findings& findings, const Comparison& comparison, const std::string& section) {
  const std::string what =
      fmt::format("rows of {} against {}", comparison.updated.name, comparison.base.name);
  if (comparison.refused)
    for (const Mismatch& mismatch : comparison.mismatches)
      findings.failed.add("refused", "differences that were not meant, so that nothing is compared",
                          section, mismatch.field, "");
  for (const ComparedRow& row : comparison.rows) {
    const std::string times =
        fmt::format("{:.3g}x, from {} to {}", compute_speedup(row.times.ratio),
                    format_seconds(row.base.median), format_seconds(row.updated.median));
    if (row.verdict == Verdict::slower) findings.failed.add("slower", what, section, row.id, times);
    if (row.verdict == Verdict::inconclusive)
      findings.noisy.add("inconclusive", what, section, row.id, times + "; " + row.reason);
  }
  std::set<std::string> named;
  for (const Entry& row : comparison.lost) {
    named.insert(row.id);
    findings.lost.add("lost", what, section, row.id, row.reason);
  }
  for (const Entry& row : comparison.only_base)
    if (!named.contains(row.id))
      findings.lost.add("vanished", what, section, row.id, "it was " + row.status);
  for (const Entry& row : comparison.not_compared)
    if (find_row_gravity(row.new_status) > find_row_gravity("unsupported"))
      findings.failed.add(row.new_status, what, section, row.id, row.reason);
}

/// The first reason for a node's verdict.
std::string explain(const JudgedNode& node) {
  if (!node.reason.empty()) return node.reason;
  for (const JudgedRow& row : node.rows)
    if (row.verdict == node.verdict) return row.id + (row.reason.empty() ? "" : ": " + row.reason);
  return "";
}

void add(Findings& findings, const Acceptance& acceptance, const std::string& section) {
  for (const JudgedNode& node : acceptance.nodes) {
    Groups& group = node.verdict == NodeVerdict::missing     ? findings.lost
                    : node.verdict == NodeVerdict::not_quiet ? findings.noisy
                                                             : findings.failed;
    if (node.verdict != NodeVerdict::pass)
      group.add(verdict_names[node.verdict], "nodes of the acceptance", section, node.node,
                explain(node));
  }
  for (const Acceptance::UnmetCriterion& unmet : acceptance.unmet)
    findings.failed.add("not met", "criteria of the fleet", section, unmet.criterion, unmet.reason);
}

void add(Findings& findings, const History& history, const std::string& section) {
  const std::map<std::string, Groups*> groups{{"suspect", &findings.noisy},
                                              {"lost", &findings.lost},
                                              {"slower", &findings.failed},
                                              {"drifting", &findings.failed}};
  for (const RowHistory& series : history.series) {
    const std::string& state = series.verdict.state;
    if (state == "suspect" && series.confirmation) {
      const std::string& answer = series.confirmation->answer;
      Groups& group = answer.ends_with("slower") ? findings.failed : findings.noisy;
      group.add(answer, "suspects that were measured again", section, series.id,
                series.confirmation->reason);
    } else if (const auto group = groups.find(state); group != groups.end()) {
      group->second->add(state, "series of the history", section, series.id, series.verdict.reason);
    }
  }
}

/// A model is shown only on the page.
void add(Findings&, const json&, const std::string&) {}

}  // namespace

json make_findings_part(const ReportInput& input, const SeriesList& all) {
  Findings findings;
  add_rows(findings, input, all);
  add_unfinished(findings, input.results);
  std::map<std::string, std::size_t> counts;
  for (const NamedDocument& named : input.documents) {
    // Names are those of the page's sections: history, history1, …
    const std::size_t before = counts[named.kind()]++;
    const std::string section = named.kind() + (before == 0 ? "" : std::to_string(before));
    std::visit([&](const auto& document) { add(findings, document, section); }, named.content);
  }
  return {{"failed", findings.failed.take()},
          {"lost", findings.lost.take()},
          {"noisy", findings.noisy.take()}};
}

}  // namespace assay::report
