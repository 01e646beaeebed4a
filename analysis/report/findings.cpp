// Lists for all inputs what failed, what was lost and what is noisy: groups of items with reasons.

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

constexpr std::size_t most_items = 200;  ///< of a group; its count is that of all

/// An interval of more than this part of its median decides little.
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

/// Who ran the series: its host in a fleet, else its system.
std::string owner_of(const ReportInput& input, const Series& series) {
  if (input.fleet.rows.empty()) return system_of(input.results, series);
  return text_of(environment_of(input.results, series, series.first()), "host");
}

void add_rows(Findings& found, const ReportInput& input, const std::vector<Series>& all) {
  std::map<std::string, std::set<std::size_t>> runs;  // of each owner
  for (const Series& series : all) runs[owner_of(input, series)].insert(series.result);
  for (const Series& series : all) {
    if (series.published) continue;
    const std::string owner = owner_of(input, series);
    std::vector<std::string> words{text_of(series.first(), "benchmark"), series.problem()};
    if (runs.size() > 1 || !input.fleet.rows.empty()) words.insert(words.begin(), owner);
    for (const char* name : {"direction", "precision", "backend", "transport", "algorithm"})
      if (const std::string value = series.parameter(name); !value.empty()) words.push_back(value);
    if (runs[owner].size() > 1) words.push_back("in " + input.results[series.result].name);
    const std::string name = join(words, " ");
    if (series.status == "ok") {
      const auto [low, high] = series.interval;
      if (const std::string mark = mark_of(series); !mark.empty())
        found.noisy.add(
            mark,
            mark == shared_mark      ? "rows that were timed while other work wanted the processors"
            : mark == throttled_mark ? "rows whose device was throttled by power or heat"
                                     : "rows with more threads or ranks than processors",
            "rows", name, human_seconds(series.median));
      if (series.has_interval && high - low > wide_interval * series.median)
        found.noisy.add("wide", "rows whose interval is wider than 10 % of the median", "rows",
                        name,
                        fmt::format("{}: {} to {}", human_seconds(series.median),
                                    human_seconds(low), human_seconds(high)));
    } else if (series.status != "unsupported") {
      found.failed.add(series.status, "rows of the results", "rows", name, series.reason);
    } else if (lacks_required(series)) {
      found.failed.add("unsupported", "rows that the suite requires", "rows", name, series.reason);
    }
  }
}

/// A run that was interrupted lacks the rows that it did not come to.
void add_unfinished(Findings& found, const std::vector<NamedResult>& results) {
  for (const NamedResult& named : results) {
    const json& run = named.result.at("run");
    if (run.at("started").is_string() && run.at("finished").is_null())
      found.lost.add("unfinished", "runs", "files",
                     text_of(run, "id") + (named.name.empty() ? "" : " in " + named.name),
                     "it was interrupted; rows may be missing (assay run --resume finishes it)");
  }
}

void add_comparison(Findings& found, const json& document, const std::string& section) {
  const std::string what = fmt::format("rows of {} against {}", text_of(document.at("new"), "name"),
                                       text_of(document.at("base"), "name"));
  if (document.at("refused") == true)
    for (const json& mismatch : document.at("mismatches"))
      found.failed.add("refused", "differences that were not meant, so that nothing is compared",
                       section, mismatch.at("field"), "");
  for (const json& row : document.at("rows")) {
    const double base = row.at("base").at("median"), updated = row.at("new").at("median");
    const std::string times =
        fmt::format("{:.3g}x, from {} to {}", speedup_of(row.at("ratio").get<double>()),
                    human_seconds(base), human_seconds(updated));
    if (row.at("verdict") == "slower")
      found.failed.add("slower", what, section, row.at("id"), times);
    if (row.at("verdict") == "inconclusive")
      found.noisy.add("inconclusive", what, section, row.at("id"),
                      fmt::format("{}; {}", times, text_of(row, "reason")));
  }
  std::set<std::string> named;
  for (const json& row : document.value("lost", json::array())) {
    named.insert(row.at("id"));
    found.lost.add("lost", what, section, row.at("id"), row.at("reason"));
  }
  for (const json& row : document.at("only_base"))
    if (!named.contains(row.at("id")))
      found.lost.add("vanished", what, section, row.at("id"), "it was " + text_of(row, "status"));
  for (const json& row : document.at("not_compared"))
    if (const std::string status = text_of(row, "new_status");
        row_gravity(status) > row_gravity("unsupported"))
      found.failed.add(status, what, section, row.at("id"), text_of(row, "reason"));
}

/// The first thing that a node's verdict rests on.
std::string reason_of(const json& node) {
  if (const std::string own = text_of(node, "reason"); !own.empty()) return own;
  for (const json& row : node.at("rows"))
    if (row.at("verdict") == node.at("verdict")) {
      const std::string reason = text_of(row, "reason");
      return text_of(row, "id") + (reason.empty() ? "" : ": " + reason);
    }
  return "";
}

void add_acceptance(Findings& found, const json& document, const std::string& section) {
  const std::string what = "nodes of the acceptance";
  for (const json& node : document.at("nodes")) {
    const std::string verdict = node.at("verdict"), reason = reason_of(node);
    Groups& group = verdict == "MISSING"     ? found.lost
                    : verdict == "NOT-QUIET" ? found.noisy
                                             : found.failed;
    if (verdict != "PASS") group.add(verdict, what, section, node.at("node"), reason);
  }
  for (const json& unmet : document.at("unmet"))
    found.failed.add("not met", "criteria of the fleet", section, unmet.at("criterion"),
                     text_of(unmet, "reason"));
}

void add_history(Findings& found, const json& document, const std::string& section) {
  const std::string what = "series of the history";
  const std::map<std::string, Groups*> groups{{"suspect", &found.noisy},
                                              {"lost", &found.lost},
                                              {"slower", &found.failed},
                                              {"drifting", &found.failed}};
  for (const json& series : document.at("series")) {
    const std::string state = series.at("state"), id = series.at("id"),
                      reason = text_of(series, "reason");
    const json confirmation = series.value("confirmation", json());
    if (state == "suspect" && confirmation.is_object()) {
      const std::string answer = confirmation.at("answer");
      Groups& group = answer.ends_with("slower") ? found.failed : found.noisy;
      group.add(answer, "suspects that were measured again", section, id,
                text_of(confirmation, "reason"));
    } else if (const auto group = groups.find(state); group != groups.end()) {
      group->second->add(state, what, section, id, reason);
    }
  }
}

}  // namespace

json findings_part(const ReportInput& input, const std::vector<Series>& all) {
  Findings found;
  add_rows(found, input, all);
  add_unfinished(found, input.results);
  std::map<std::string, std::size_t> counts;
  for (const NamedDocument& named : input.documents) {
    // As the page calls its sections: history, history1, …
    const std::size_t before = counts[named.kind]++;
    const std::string section = before == 0 ? named.kind : fmt::format("{}{}", named.kind, before);
    if (named.kind == "acceptance") add_acceptance(found, named.document, section);
    if (named.kind == "comparison") add_comparison(found, named.document, section);
    if (named.kind == "history") add_history(found, named.document, section);
  }
  return {
      {"failed", found.failed.take()}, {"lost", found.lost.take()}, {"noisy", found.noisy.take()}};
}

}  // namespace assay::report
