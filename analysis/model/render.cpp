#include <fmt/format.h>

#include <algorithm>

#include "analysis/model/document.hpp"
#include "analysis/page.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Entries of a list that a page shows; the document has all of them.
constexpr std::size_t most_shown = 12;

std::string number(const json& value) {
  return value.is_number() ? fmt::format("{:.4g}", value.get<double>()) : "-";
}

/// Probabilities below 1e-16 are not meaningful for any data.
std::string p_value(const json& value, const char* equal = "", const char* below = "<") {
  if (!value.is_number()) return "-";
  const auto p = value.get<double>();
  return p < 1e-16 ? fmt::format("{}1e-16", below) : fmt::format("{}{:.2g}", equal, p);
}

std::string interval(const json& value) {
  return value.is_array() ? fmt::format("{} .. {}", number(value[0]), number(value[1])) : "-";
}

std::string in_unit(const json& value, const std::string& unit) {
  if (!value.is_number()) return "-";
  if (unit == "s") return human_seconds(value);
  return unit.empty() ? number(value) : human(value, unit);
}

/// Columns of the widest term, remark, text, and line of the head that a table on a terminal
/// contains whole.
constexpr std::size_t most_term = 32, most_remark = 12, most_text = 60, most_head = 100;

/// A page whose long texts are footnotes on a terminal.
struct ModelPage : Page {
  using Page::Page;
  Legend legend{};

  /// The text, or, if it would make a table too wide for a terminal, the number of its footnote.
  std::string brief(const std::string& text, std::size_t width) {
    return markdown() || shown_width(text) <= width ? text : legend.footnote(text);
  }
  /// A term as it is printed: a long one is cut, and its footnote has the whole.
  std::string term(const std::string& name) {
    const std::string whole = brief(name, most_term);
    return whole == name ? name : fmt::format("{} {}", shortened(name, most_term), whole);
  }
};

/// A line for each of the first entries, then the number of the others.
template <class Make>
std::vector<Line> lines_of(const json& list, const Make& make) {
  std::vector<Line> lines;
  for (const json& entry : list) {
    if (lines.size() == most_shown) {
      lines.push_back(
          {{}, fmt::format("... and {} more (--format json)", list.size() - most_shown)});
      break;
    }
    lines.push_back(make(entry));
  }
  return lines;
}

std::string f_test_text(const json& f) {
  if (!f.at("value").is_number()) return "- (" + f.at("reason").get<std::string>() + ")";
  return fmt::format("F({}, {}) = {}, p {}", f.at("df1").get<int>(), f.at("df2").get<int>(),
                     number(f.at("value")), p_value(f.at("p"), "= ", "< "));
}

void add_head(ModelPage& page, const json& document) {
  Table head{{{"model"}, {document.at("formula").get<std::string>()}}};
  const auto say = [&](const std::string& what, const std::string& text) {
    head.lines.push_back({{what, text}});
  };
  say("observations", std::to_string(document.at("n").get<std::size_t>()));
  for (const json& rows : document.at("left_out"))
    say("left out", fmt::format("{}: {}", rows.at("rows").get<std::size_t>(),
                                rows.at("reason").get<std::string>()));
  std::vector<std::string> references;
  for (const auto& [column, level] : document.at("reference").items())
    references.push_back(fmt::format("{}={}", column, level.get<std::string>()));
  if (!references.empty()) say("reference", page.brief(join(references, ", "), most_head));
  const json& cluster = document.at("cluster");
  say("errors", cluster.is_null()
                    ? fmt::format("observations are independent, t with {} degrees of freedom",
                                  document.at("df").get<std::size_t>())
                    : fmt::format("clustered by {}: {}, t with {} degrees of freedom",
                                  cluster.at("by").get<std::string>(),
                                  counted(cluster.at("groups").get<std::size_t>(), "group"),
                                  cluster.at("df").get<std::size_t>()));
  say("R2", fmt::format("{}, adjusted {}", number(document.at("r2")),
                        number(document.at("adjusted_r2"))));
  say("residuals", fmt::format("sigma {} ({}), {} degrees of freedom", number(document.at("sigma")),
                               document.at("response").at("scale").get<std::string>() + " scale",
                               document.at("df").get<std::size_t>()));
  say("all terms", f_test_text(document.at("f")));
  page.part(head);
}

bool has_speedups(const json& document) {
  const json& all = document.at("coefficients");
  return std::any_of(all.begin(), all.end(),
                     [](const json& coefficient) { return coefficient.at("speedup").is_number(); });
}

void add_coefficients(ModelPage& page, const json& document) {
  const bool speedups = has_speedups(document);
  std::vector<std::string> titles{"term", ">estimate", ">SE", ">t", ">p", ">95 % interval"};
  if (speedups) titles.insert(titles.end(), {">speedup", ">95 % interval"});
  titles.emplace_back("note");
  Table table{titled(titles)};
  for (const json& coefficient : document.at("coefficients")) {
    std::vector<std::string>& cells = table.lines.emplace_back().cells;
    cells = {page.term(coefficient.at("term")), number(coefficient.at("estimate")),
             number(coefficient.at("se")),      number(coefficient.at("t")),
             p_value(coefficient.at("p")),      interval(coefficient.at("interval"))};
    if (speedups) {
      const json& speedup = coefficient.at("speedup");
      cells.push_back(speedup.is_number() ? number(speedup) + "x" : "-");
      cells.push_back(interval(coefficient.at("speedup_interval")));
    }
    std::vector<std::string> notes;
    for (const char* what : {"note", "reason"})
      if (coefficient.at(what).is_string()) notes.push_back(coefficient.at(what));
    cells.push_back(page.brief(join(notes, "; "), most_remark));
  }
  page.part(table);
}

void add_checks(ModelPage& page, const json& document) {
  page.part(
      {{{"aliased term"}, {"because"}}, lines_of(document.at("aliased"), [&](const json& alias) {
         return Line{{page.term(alias.at("term")), page.brief(alias.at("because"), most_text)}};
       })});
  page.part({{{"left out, then predicted"},
              {"n", true},
              {"RMS error", true},
              {"worst ratio", true},
              {"worst"}},
             lines_of(document.at("validation"), [&](const json& check) {
               const char* name = check.at("left_out").is_string() ? "left_out" : "kind";
               Line line{{page.brief(check.at(name), most_text),
                          std::to_string(check.at("n").get<std::size_t>())}};
               if (check.at("reason").is_string()) {
                 line.note = check.at("reason");
                 return line;
               }
               line.cells.push_back(number(check.at("rms_error")));
               line.cells.push_back(number(check.at("worst_ratio")));
               line.cells.push_back(page.brief(check.at("worst"), most_text));
               return line;
             })});
}

void add_predictions(Page& page, const json& document) {
  const std::string unit = document.at("response").at("unit");
  Table table{{{"predicted for"},
               {document.at("response").at("column").get<std::string>(), true},
               {"95 % interval", true},
               {"note"}}};
  for (const json& prediction : document.at("predictions")) {
    std::vector<std::string> given, notes;
    for (const auto& [column, value] : prediction.at("given").items())
      given.push_back(fmt::format("{}={}", column,
                                  value.is_string() ? value.get<std::string>() : number(value)));
    for (const json& out : prediction.at("extrapolated"))
      notes.push_back(fmt::format("EXTRAPOLATED: {} was observed from {} to {}",
                                  out.at("column").get<std::string>(), number(out["observed"][0]),
                                  number(out["observed"][1])));
    for (const json& level : prediction.at("unseen"))
      notes.push_back("UNSEEN: " + level.get<std::string>());
    if (prediction.at("reason").is_string() && prediction.at("unseen").empty())
      notes.push_back(prediction.at("reason"));
    const json& range = prediction.at("interval");
    table.lines.push_back({{join(given, ", "), in_unit(prediction.at("value"), unit),
                            range.is_array() ? fmt::format("{} .. {}", in_unit(range[0], unit),
                                                           in_unit(range[1], unit))
                                             : "-",
                            join(notes, "; ")}});
  }
  page.part(table);
}

/// The notes of a page that has all else.
void add_notes(ModelPage& page, const json& document) {
  Legend& legend = page.legend;
  if (has_speedups(document))
    legend.add(
        "speedup: of the level over its reference, all else equal; above 1 the level is faster");
  if (!document.at("predictions").empty())
    legend.add("predictions: the interval contains one new observation with a probability of 95 %");
  for (const json& note : document.at("notes")) legend.add(note);
  for (const Line& line : lines_of(document.at("citations"), [](const json& citation) {
         return Line{{"published: " + citation.get<std::string>()}};
       }))
    legend.add(line.cells.empty() ? line.note : line.cells.front());
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

std::string render_model(const json& document, bool markdown) {
  ModelPage page(markdown);
  add_head(page, document);
  add_coefficients(page, document);
  add_checks(page, document);
  add_predictions(page, document);
  add_notes(page, document);
  return page.text();
}

std::string model_csv(const json& document) {
  std::vector<json> records;
  for (const json& coefficient : document.at("coefficients")) {
    json& record = records.emplace_back(coefficient);
    for (const std::string name : {"", "speedup_"}) {
      const json& range = coefficient.at(name + "interval");
      record[name + "low"] = range.is_array() ? range[0] : json();
      record[name + "high"] = range.is_array() ? range[1] : json();
    }
    if (record.at("reason").is_string()) record["note"] = record["reason"];
  }
  for (const json& alias : document.at("aliased"))
    records.push_back({{"term", alias.at("term")},
                       {"note", "aliased: " + alias.at("because").get<std::string>()}});
  return csv_of({"term", "estimate", "se", "t", "p", "low", "high", "speedup", "speedup_low",
                 "speedup_high", "note"},
                records);
}

}  // namespace assay
