#include <fmt/format.h>

#include <algorithm>

#include "analysis/model/document.hpp"
#include "analysis/page.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace assay {

namespace {

/// Entries of a list that a page shows; the document has all entries.
constexpr std::size_t most_shown = 12;

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : "-";
}

/// Probabilities below 1e-16 are not meaningful for any data.
std::string p_value(const std::optional<double>& p, const char* equal = "",
                    const char* below = "<") {
  if (!p) return "-";
  return *p < 1e-16 ? fmt::format("{}1e-16", below) : fmt::format("{}{:.2g}", equal, *p);
}

std::string in_unit(const std::optional<double>& value, const std::string& unit) {
  if (!value || unit.empty()) return number(value);
  return unit == "s" ? format_seconds(*value) : format_with_unit(*value, unit);
}

std::string format_interval(const std::optional<Interval>& range, const std::string& unit = "") {
  return range ? in_unit(range->low, unit) + " .. " + in_unit(range->high, unit) : "-";
}

/// Widths, in columns, up to which a table on a terminal shows a term, a remark, a text, and a line
/// of the head in full.
constexpr std::size_t most_term = 32, most_remark = 12, most_text = 60, most_head = 100;

/// A page whose long texts are footnotes on a terminal.
struct ModelPage : Page {
  using Page::Page;
  Legend legend{};

  /// The text or, if it would make a table too wide for a terminal, the number of its footnote.
  std::string brief(const std::string& text, std::size_t width) {
    return markdown() || count_columns(text) <= width ? text : legend.footnote(text);
  }
  /// A term for display; a long one is cut, and its footnote has the whole term.
  std::string term(const std::string& name) {
    const std::string whole = brief(name, most_term);
    return whole == name ? name : fmt::format("{} {}", shorten(name, most_term), whole);
  }
};

/// A line for each of the first entries, then the number of the others.
template <class Entry, class Make>
std::vector<Line> make_lines(const std::vector<Entry>& list, const Make& make) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < std::min(list.size(), most_shown); ++i)
    lines.push_back(make(list[i]));
  if (list.size() > most_shown)
    lines.push_back({{}, fmt::format("... and {} more (--format json)", list.size() - most_shown)});
  return lines;
}

std::string format_f_test(const FTest& f) {
  if (!f.value) return "- (" + f.reason + ")";
  return fmt::format("F({}, {}) = {}, p {}", *f.df1, *f.df2, number(f.value),
                     p_value(f.p, "= ", "< "));
}

void add_head(ModelPage& page, const ModelDocument& document) {
  Table head{{{"model"}, {document.formula}}};
  const auto say = [&](const std::string& what, const std::string& text) {
    head.lines.push_back({{what, text}});
  };
  say("observations", std::to_string(document.n));
  for (const Exclusion& left_out : document.left_out)
    say("left out", fmt::format("{}: {}", left_out.rows, left_out.reason));
  std::vector<std::string> references;
  for (const auto& [column, level] : document.reference)
    references.push_back(fmt::format("{}={}", column, level));
  if (!references.empty()) say("reference", page.brief(join(references, ", "), most_head));
  const auto& cluster = document.cluster;
  say("errors", fmt::format("{}, t with {} degrees of freedom",
                            cluster ? fmt::format("clustered by {}: {}", cluster->by,
                                                  format_count(cluster->groups, "group"))
                                    : "observations are independent",
                            cluster ? cluster->df : document.df));
  say("R2", fmt::format("{}, adjusted {}", number(document.r2), number(document.adjusted_r2)));
  say("residuals", fmt::format("sigma {} ({} scale), {} degrees of freedom", number(document.sigma),
                               document.response.scale, document.df));
  say("all terms", format_f_test(document.f));
  page.part(head);
}

bool has_speedups(const ModelDocument& document) {
  return std::any_of(document.coefficients.begin(), document.coefficients.end(),
                     [](const Coefficient& coefficient) { return coefficient.speedup; });
}

void add_coefficients(ModelPage& page, const ModelDocument& document) {
  const bool speedups = has_speedups(document);
  std::vector<std::string> titles{"term", ">estimate|1", ">SE|4",
                                  ">t|5", ">p|3",        ">95 % interval|2"};
  if (speedups) titles.insert(titles.end(), {">speedup", ">95 % interval"});
  titles.emplace_back("note");
  Table table{make_columns(titles)};
  for (const Coefficient& coefficient : document.coefficients) {
    std::vector<std::string>& cells = table.lines.emplace_back().cells;
    cells = {page.term(coefficient.term), number(coefficient.estimate),
             number(coefficient.se),      number(coefficient.t),
             p_value(coefficient.p),      format_interval(coefficient.interval)};
    if (speedups) {
      cells.push_back(number(coefficient.speedup) + (coefficient.speedup ? "x" : ""));
      cells.push_back(format_interval(coefficient.speedup_interval));
    }
    std::vector<std::string> notes{coefficient.note, coefficient.reason};
    std::erase(notes, "");
    cells.push_back(page.brief(join(notes, "; "), most_remark));
  }
  page.part(table);
}

void add_checks(ModelPage& page, const ModelDocument& document) {
  page.part({make_columns({"aliased term", "because"}),
             make_lines(document.aliased, [&](const AliasedTerm& alias) {
               return Line{{page.term(alias.term), page.brief(alias.because, most_text)}};
             })});
  page.part(
      {make_columns({"left out, then predicted", ">n", ">RMS error", ">worst ratio|2", "worst|1"}),
       make_lines(document.validation, [&](const Validation& check) {
         const std::string& name = check.left_out.empty() ? check.kind : check.left_out;
         Line line{{page.brief(name, most_text), std::to_string(check.n)}, check.reason};
         if (check.reason.empty())
           for (const std::string& cell : {number(check.rms_error), number(check.worst_ratio),
                                           page.brief(check.worst, most_text)})
             line.cells.push_back(cell);
         return line;
       })});
}

void add_predictions(Page& page, const ModelDocument& document) {
  const Response& response = document.response;
  Table table{make_columns({"predicted for", ">" + response.column, ">95 % interval", "note"})};
  for (const Prediction& prediction : document.predictions) {
    std::vector<std::string> inputs, notes;
    for (const auto& [column, value] : prediction.inputs)
      inputs.push_back(
          column + "=" +
          (value.is_string() ? value.get<std::string>() : number(value.get<double>())));
    for (const Extrapolation& column : prediction.extrapolated)
      notes.push_back(fmt::format("EXTRAPOLATED: {} was observed from {} to {}", column.column,
                                  number(column.observed.low), number(column.observed.high)));
    for (const std::string& level : prediction.unseen) notes.push_back("UNSEEN: " + level);
    if (!prediction.reason.empty() && prediction.unseen.empty()) notes.push_back(prediction.reason);
    table.lines.push_back(
        {{join(inputs, ", "), in_unit(prediction.value, response.unit),
          format_interval(prediction.interval, response.unit), join(notes, "; ")}});
  }
  page.part(table);
}

/// The notes, the last part of a page.
void add_notes(ModelPage& page, const ModelDocument& document) {
  Legend& legend = page.legend;
  if (has_speedups(document))
    legend.add(
        "speedup: of the level over its reference, all else equal; above 1 the level is faster");
  if (!document.predictions.empty())
    legend.add("predictions: the interval contains one new observation with a probability of 95 %");
  for (const std::string& note : document.notes) legend.add(note);
  for (const Line& line : make_lines(document.citations, [](const std::string& citation) {
         return Line{{}, "published: " + citation};
       }))
    legend.add(line.note);
  if (legend.lines().empty()) return;
  if (!page.markdown()) {
    page.add("\nnotes\n-----\n");
    return page.notes(legend.lines());
  }
  Table table{{{"notes"}}};
  for (const std::string& line : legend.lines()) table.lines.push_back({{line}});
  page.part(table);
}

}  // namespace

std::string render_model(const ModelDocument& document, bool markdown) {
  ModelPage page(markdown);
  add_head(page, document);
  add_coefficients(page, document);
  add_checks(page, document);
  add_predictions(page, document);
  add_notes(page, document);
  return page.text();
}

std::string render_model_csv(const ModelDocument& document) {
  std::vector<nlohmann::json> records = nlohmann::json(document).at("coefficients");
  for (nlohmann::json& record : records) {
    for (const std::string prefix : {"", "speedup_"})
      if (const nlohmann::json ends = record[prefix + "interval"]; ends.is_array())
        record.update({{prefix + "low", ends[0]}, {prefix + "high", ends[1]}});
    if (record["reason"].is_string()) record["note"] = record["reason"];
  }
  for (const AliasedTerm& alias : document.aliased)
    records.push_back({{"term", alias.term}, {"note", "aliased: " + alias.because}});
  return make_csv({{"term", "estimate", "se", "t", "p", "low", "high", "speedup", "speedup_low",
                    "speedup_high", "note"},
                   records});
}

}  // namespace assay
