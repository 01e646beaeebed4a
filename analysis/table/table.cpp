#include "analysis/table/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/table/pivot.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units.hpp"
#include "core/result.hpp"
#include "core/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

constexpr std::size_t longest_note = 160;

/// Another system's number for one series; null where there is none.
json beside(const Series& series, const Baseline* baseline, const std::string& system) {
  if (series.status != "ok") return nullptr;
  json row = series.first();
  row["time_s"]["median"] = series.median;
  json match;
  if (baseline != nullptr)
    match = baseline->match(row);
  else if (row.contains("baseline") && row["baseline"].is_object() &&
           row["baseline"].at("system") == system)
    match = row["baseline"];
  // The ratio is to the value shown, not to that of the first launch.
  if (match.is_object() && series.median > 0)
    match["speedup"] = match.at("value").get<double>() / series.median;
  return match;
}

/// The systems that stand beside the rows: those asked for, else those in the rows.
std::vector<std::pair<std::string, const Baseline*>> systems_of(
    const std::vector<Series>& all, const std::vector<Baseline>& baselines) {
  std::vector<std::pair<std::string, const Baseline*>> systems;
  for (const Baseline& baseline : baselines) systems.emplace_back(baseline.system(), &baseline);
  if (!systems.empty()) return systems;
  std::set<std::string> seen;
  for (const Series& series : all)
    for (const json& row : series.rows)
      if (row.contains("baseline") && row["baseline"].is_object()) {
        const std::string system = row["baseline"].at("system");
        if (seen.insert(system).second) systems.emplace_back(system, nullptr);
      }
  return systems;
}

std::string counts(const std::vector<Series>& all) {
  std::string text;
  for (const char* status : {"ok", "unsupported", "incorrect", "failed", "timeout"}) {
    const auto n = std::count_if(all.begin(), all.end(),
                                 [&](const Series& one) { return one.status == status; });
    if (n > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, status);
  }
  return text.empty() ? "no rows" : text;
}

/// What the numbers mean, below the table: each thing once, and the citations of a system as one.
class Legend {
 public:
  void add(const std::string& line) {
    if (seen_.insert(line).second) lines_.push_back(line);
  }
  void cite(const std::string& system, const std::string& citation) {
    citations_[system].insert(citation);
  }
  std::string text(bool markdown) const {
    std::string text;
    auto put = [&](const std::string& line) {
      text += fmt::format("{}{}\n", markdown ? "- " : "", line);
    };
    for (const auto& [system, cited] : citations_)
      put(fmt::format("\\* {}: published, not measured by Assay, without interval: {}", system,
                      common(cited))
              .substr(markdown ? 0 : 1));
    for (const std::string& line : lines_) put(line);
    return text;
  }

 private:
  /// "file 'sheet'!... (12 places, the result file names each)" of citations that differ in the
  /// middle.
  static std::string common(const std::set<std::string>& cited) {
    // Sorted: what the first and the last have in common at the start, all have.
    const std::string &first = *cited.begin(), &last = *cited.rbegin();
    if (cited.size() == 1) return first;
    const auto [end, other] = std::mismatch(first.begin(), first.end(), last.begin(), last.end());
    return fmt::format("{}... ({} places; the result file names each)",
                       std::string(first.begin(), end), cited.size());
  }

  std::set<std::string> seen_;
  std::vector<std::string> lines_;
  std::map<std::string, std::set<std::string>> citations_;
};

/// Of what the problem is about: bytes where it has more of them than operations (STREAM), loads.
std::string rate_text(const json& row, const Series& series) {
  const json &problem = row.at("problem"), &rates = row.at("rates");
  const std::string mark = series.published ? "*" : "";
  if (!(series.median > 0)) return "-";
  const auto amount = [&](const char* name) {
    const json value = problem.value(name, json());
    return value.is_number() ? value.get<double>() : 0;
  };
  const double flops = amount("flops"), bytes = amount("bytes");
  if (flops > 0 && 2 * flops >= bytes) return human(flops / series.median, "FLOP/s") + mark;
  if (bytes > 0) return human(bytes / series.median, "B/s") + mark;
  if (rates.contains("loads_per_s"))
    return human_seconds(1 / rates.at("loads_per_s").get<double>()) + "/load";
  return "-";
}

/// "87 % memory" of a series: the median launch's fraction of its ceiling; "-" without ceilings.
std::string ceiling_text(const Series& series, Legend& legend) {
  std::vector<double> fractions;
  std::string bound_by;
  bool exceeded = false;
  for (const json& row : series.rows) {
    const json ceiling = row.value("ceiling", json());
    if (!ceiling.is_object() || !ceiling.at("fraction").is_number()) continue;
    fractions.push_back(ceiling.at("fraction"));
    bound_by = text_of(ceiling, "bound_by");
    exceeded |= ceiling.value("exceeded", false);
  }
  if (fractions.empty()) return "-";
  if (exceeded)
    legend.add(
        "^: faster than the ceiling by more than 3 %, which cannot be: the machine was slower when "
        "the ceiling was measured, or one of the two is wrong.");
  legend.add(
      "of ceiling: least time that peak arithmetic and memory allow (measured around the row by "
      "assay-stream) / time, and which of the two bounds.");
  return fmt::format("{:.3g} % {}{}", 100 * median(fractions), bound_by, exceeded ? "^" : "");
}

/// What a note says beyond the table's own columns and marks.
void add_note(Legend& legend, const std::string& system, const std::string& note) {
  std::vector<std::string> rest;
  for (const std::string& part : split(note, ';')) {
    const std::string text = part.substr(std::min(part.find_first_not_of(' '), part.size()));
    if (!text.empty() && !text.starts_with("published") && !text.starts_with("another algorithm"))
      rest.push_back(text);
  }
  if (!rest.empty()) legend.add(fmt::format("{}: {}", system, join(rest, "; ")));
}

void add_title(std::string& text, const std::vector<NamedResult>& results,
               const std::vector<std::string>& constants, bool markdown) {
  for (const NamedResult& one : results) {
    const json& run = one.result.at("run");
    const std::string suite = text_of(run, "suite");
    text += fmt::format("{}system {}{}, {}{}\n", one.name.empty() ? "" : one.name + ": ",
                        text_of(one.result.at("system"), "name"),
                        suite.empty() ? "" : ", suite " + suite, text_of(run, "started"),
                        markdown ? "  " : "");
  }
  if (!constants.empty()) text += "all rows: " + join(constants, ", ") + "\n";
  text += "\n";
}

}  // namespace

std::string render_table(const std::vector<NamedResult>& results,
                         const std::vector<Baseline>& baselines, const TableOptions& options) {
  const std::vector<Series> all = series_of(results);
  const Axes axes = axes_of(all, options.by);
  if (!options.by.empty()) {
    std::string text;
    add_title(text, results, axes.constants, options.markdown);
    return text + pivot_table(results, all, axes, options) + "\n" + counts(all) + "\n";
  }
  const auto systems = systems_of(all, baselines);
  Legend legend;
  std::vector<Column> columns;
  const bool several_results = results.size() > 1;
  const bool several_environments = ids_repeat(all);
  const bool several_launches =
      std::any_of(all.begin(), all.end(), [](const Series& one) { return one.rows.size() > 1; });
  if (several_results) columns.push_back({"result"});
  columns.push_back({"problem"});
  for (const std::string& axis : axes.shown) columns.push_back({axis});
  if (several_environments) columns.push_back({"environment", true});
  if (several_launches) columns.push_back({"launches", true});
  const bool ceilings = std::any_of(all.begin(), all.end(), [](const Series& one) {
    return one.status == "ok" && one.first().value("ceiling", json()).is_object();
  });
  for (const char* title : {"time", "95 % interval", "rate"}) columns.push_back({title, true});
  if (ceilings) columns.push_back({"of ceiling", true});
  columns.push_back({"error", true});
  for (const auto& [system, baseline] : systems) {
    columns.push_back({system, true});
    columns.push_back({"ran"});
    columns.push_back({"speedup", true});
  }

  std::vector<Line> lines;
  for (const Series& series : all) {
    Line line;
    if (several_results) line.cells.push_back(results[series.result].name);
    line.cells.push_back(series.problem());
    for (const std::string& axis : axes.shown)
      line.cells.push_back(axis == "algorithm" ? series.algorithm() : series.parameter(axis));
    if (several_environments)
      line.cells.push_back(std::to_string(series.first().at("environment").get<std::size_t>()));
    if (series.status != "ok") {
      line.note = series.status + ": " + series.reason;
      if (!options.markdown && line.note.size() > longest_note) {
        // Not in the middle of a UTF-8 sequence.
        std::size_t end = longest_note;
        while (end > 0 && (static_cast<unsigned char>(line.note[end]) & 0xC0) == 0x80) --end;
        line.note = line.note.substr(0, end) + "...";
        legend.add("Long reasons are cut here; the result file has them whole.");
      }
      lines.push_back(std::move(line));
      continue;
    }
    const json& row = series.first();
    if (several_launches) line.cells.push_back(std::to_string(series.rows.size()));
    const bool shared = any_shared(series);
    line.cells.push_back(human_seconds(series.median) + (series.published ? "*" : "") +
                         (shared ? "!" : ""));
    if (shared) legend.add(shared_note);
    line.cells.push_back(series.has_interval
                             ? fmt::format("{} .. {}", human_seconds(series.interval.low),
                                           human_seconds(series.interval.high))
                             : "-");
    if (!series.has_interval && !series.published)
      legend.add(fmt::format(
          "95 % interval -: fewer than {} effective samples (autocorrelation counted) have none.",
          least_for_interval));
    line.cells.push_back(rate_text(row, series));
    if (ceilings) line.cells.push_back(ceiling_text(series, legend));
    const json verification = row.value("verification", json());
    line.cells.push_back(verification.is_object() && verification.at("max_error").is_number()
                             ? human_error(verification.at("max_error"))
                             : (series.published ? "published" : "-"));
    if (series.published)
      legend.cite(text_of(results[series.result].result.at("system"), "name"),
                  text_of(row, "citation"));
    for (const auto& [system, baseline] : systems) {
      const json match = beside(series, baseline, system);
      if (!match.is_object()) {
        line.cells.insert(line.cells.end(), {"-", "", "-"});
        continue;
      }
      const bool published = match.at("published") == true;
      line.cells.push_back(human_seconds(match.at("value")) + (published ? "*" : ""));
      line.cells.push_back(text_of(match, "algorithm"));
      line.cells.push_back(fmt::format("{:.3g}", match.at("speedup").get<double>()));
      if (published) legend.cite(system, text_of(match, "citation"));
      add_note(legend, system, text_of(match, "note"));
    }
    lines.push_back(std::move(line));
  }
  if (!systems.empty())
    legend.add(
        "ran: the other system's algorithm. speedup = other system's time / this time: above 1 "
        "this run is faster.");
  if (several_environments) legend.add(environments_note);
  if (several_launches)
    legend.add(
        "Several launches: median of the launch medians, and its interval (with fewer than 6 "
        "launches: their range).");
  if (!all.empty())
    legend.add(
        "rate: nominal operations (2 per multiply-add of the direct algorithm) / time. error: "
        "largest error / RMS of "
        "the fp64 reference.");

  std::string text;
  add_title(text, results, axes.constants, options.markdown);
  text += options.markdown ? markdown_table(columns, lines) : terminal_table(columns, lines);
  return text + "\n" + legend.text(options.markdown) + (options.markdown ? "\n" : "") +
         counts(all) + "\n";
}

}  // namespace assay
