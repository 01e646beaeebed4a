#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/ensemble/ensemble.hpp"
#include "analysis/page.hpp"
#include "analysis/text_table.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

/// "rate 0.0123, optimizer adam".
std::string draw_text(const std::map<std::string, std::string>& draw) {
  std::vector<std::string> words;
  for (const auto& [name, value] : draw) words.push_back(name + " " + value);
  return join(words, ", ");
}

std::vector<std::string> list_drawn_names(const Ensemble& ensemble) {
  std::vector<std::string> names;
  for (const auto& [name, values] : ensemble.space.items()) names.push_back(name);
  return names;
}

const std::map<std::string, std::string>& find_draw(const Ensemble& ensemble, int member) {
  return ensemble.draws.at(static_cast<std::size_t>(member));
}

std::string drawn_value(const Ensemble& ensemble, int member, const std::string& name,
                        const char* otherwise) {
  const auto& draw = find_draw(ensemble, member);
  const auto value = draw.find(name);
  return value == draw.end() ? otherwise : value->second;
}

/// "1 crashed (exit 139), 3 missing".
std::string describe_states(const std::vector<UnrankedMember>& members) {
  std::map<std::string, int> states;
  for (const UnrankedMember& member : members) ++states[member.state];
  std::vector<std::string> parts;
  for (const auto& [state, count] : states) parts.push_back(fmt::format("{} {}", count, state));
  return join(parts, ", ");
}

/// "timed out: killed after 4 s"; for a member without a row only the reason.
std::string explain(const UnrankedMember& member) {
  return member.state == "missing" ? member.reason : member.state + ": " + member.reason;
}

/// "went on to rung 2, but: it was not started (no time was left)"; "" for other members.
std::string describe_stop(const Ensemble& ensemble, int member) {
  for (const UnrankedMember& stopped : ensemble.summary.stopped)
    if (stopped.member == member)
      return fmt::format("went on to rung {}, but: {}", stopped.rung + 1, explain(stopped));
  return "";
}

std::string format_member(const Ensemble& ensemble, int member) {
  return fmt::format("member {} ({})", member, draw_text(find_draw(ensemble, member)));
}

/// A line for each rung that is incomplete.
std::vector<std::string> incomplete_rungs(const Ensemble& ensemble) {
  const EnsembleSummary& summary = ensemble.summary;
  std::vector<std::string> lines;
  for (const int rung : summary.incomplete) {
    const std::size_t members = ensemble.rungs.at(static_cast<std::size_t>(rung)).members.size();
    const auto missing = std::ranges::count(rung == 0 ? summary.unranked : summary.stopped, rung,
                                            &UnrankedMember::rung);
    lines.push_back(fmt::format("Rung {} is incomplete: {} of {} have no verified result there.",
                                rung + 1, missing, format_count(members, "member")));
  }
  return lines;
}

Table make_ranking_table(const Ensemble& ensemble) {
  const std::vector<RankedMember>& ranking = ensemble.summary.ranking;
  Table table;
  table.lines.resize(ranking.size());
  table.add({"place", true}, [](std::size_t i) { return std::to_string(i + 1); });
  table.add({"member", true}, [&](std::size_t i) { return std::to_string(ranking[i].member); });
  for (const std::string& name : list_drawn_names(ensemble))
    table.add({name, true, "", static_cast<int>(table.columns.size())},
              [&](std::size_t i) { return drawn_value(ensemble, ranking[i].member, name, "-"); });
  if (ensemble.rungs.size() > 1)
    table.add({"rung", true}, [&](std::size_t i) {
      return fmt::format("{}{}", ranking[i].rung + 1,
                         describe_stop(ensemble, ranking[i].member).empty() ? "" : "*");
    });
  table.add({"epochs", true}, [&](std::size_t i) { return std::to_string(ranking[i].epochs); });
  table.add({ensemble.summary.quality, true},
            [&](std::size_t i) { return fmt::format("{:.4f}", ranking[i].quality); });
  table.add({"target"}, [&](std::size_t i) { return ranking[i].reached ? "reached" : "-"; });
  table.add({"time", true},
            [&](std::size_t i) { return fmt::format("{:.3g} s", ranking[i].seconds); });
  return table;
}

}  // namespace

std::string count_text(const Ensemble& ensemble) {
  const EnsembleSummary& summary = ensemble.summary;
  std::string text =
      fmt::format("{}: {} reached {:g}", format_count(ensemble.draws.size(), "member"),
                  summary.reached, ensemble.target);
  if (const std::size_t others = summary.ranking.size() - static_cast<std::size_t>(summary.reached);
      others > 0)
    text += fmt::format(", {} did not", others);
  if (!summary.stopped.empty())
    text += fmt::format(" (of which {} went on, but stopped: {})", summary.stopped.size(),
                        describe_states(summary.stopped));
  if (!summary.unranked.empty()) text += ", " + describe_states(summary.unranked);
  return text;
}

std::string format_member_list(const Ensemble& ensemble) {
  std::string text;
  for (std::size_t member = 0; member < ensemble.draws.size(); ++member)
    text += fmt::format("member {}: {}\n", member, visible(draw_text(ensemble.draws[member])));
  return text;
}

std::string render_ensemble_table(const Ensemble& ensemble, bool markdown, bool latex) {
  const EnsembleSummary& summary = ensemble.summary;
  Page page(markdown, latex);
  page.line(count_text(ensemble));
  page.gap();
  page.line(summary.models_per_hour
                ? fmt::format("{:.4g} models an hour to {}{:g} ({:.3g} s from the first start to "
                              "the last end, {} at once)",
                              *summary.models_per_hour,
                              summary.quality.empty() ? "" : summary.quality + " ", ensemble.target,
                              *summary.hours * 3600,
                              format_count(std::min(static_cast<std::size_t>(ensemble.slots),
                                                    ensemble.draws.size()),
                                           "member"))
                : "models an hour: unknown (" + summary.hours_reason + ")");
  if (!summary.ranking.empty()) page.part(make_ranking_table(ensemble));
  std::vector<std::string> items;
  for (const UnrankedMember& member : summary.stopped)
    items.push_back(format_member(ensemble, member.member) + ' ' +
                    describe_stop(ensemble, member.member));
  page.list("* In the place of the last rung with a verified result", items);
  items.clear();
  for (const UnrankedMember& member : summary.unranked)
    items.push_back(fmt::format("{}, rung {}: {}: {}", format_member(ensemble, member.member),
                                member.rung + 1, member.state, member.reason));
  page.list("Without a place", items);
  page.blank();
  std::vector<std::string> notes = incomplete_rungs(ensemble);
  notes.push_back(fmt::format(
      "Order: the target in fewer epochs; else {}quality after as many epochs; equal members by "
      "number. Times do not count: equal seeds give equal rankings.",
      ensemble.rungs.size() > 1 ? "the later rung, then " : ""));
  page.notes(notes);
  return page.text();
}

std::string render_ensemble_csv(const Ensemble& ensemble) {
  const std::vector<std::string> names = list_drawn_names(ensemble);
  std::vector<std::string> titles{"place",  "member",  "rung",    "state",
                                  "epochs", "quality", "seconds", "reason"};
  titles.insert(titles.begin() + 2, names.begin(), names.end());
  Table table{make_columns(titles)};
  const auto add = [&](const std::string& place, int member, int rung,
                       const std::vector<std::string>& cells) {
    std::vector<std::string>& all = table.lines.emplace_back().cells;
    all = {place, std::to_string(member)};
    for (const std::string& name : names) all.push_back(drawn_value(ensemble, member, name, ""));
    all.push_back(std::to_string(rung + 1));
    all.insert(all.end(), cells.begin(), cells.end());
  };
  int place = 0;
  for (const RankedMember& member : ensemble.summary.ranking)
    add(std::to_string(++place), member.member, member.rung,
        {member.reached ? "reached" : "not reached", std::to_string(member.epochs),
         digits(member.quality), digits(member.seconds), describe_stop(ensemble, member.member)});
  for (const UnrankedMember& member : ensemble.summary.unranked)
    add("", member.member, member.rung, {member.state, "", "", "", member.reason});
  return render_csv_table(table);
}

}  // namespace assay
