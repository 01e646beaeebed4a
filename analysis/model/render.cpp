#include <fmt/format.h>

#include <algorithm>

#include "analysis/model/document.hpp"
#include "analysis/table/legend.hpp"
#include "analysis/text_table.hpp"
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

/// Tables, and notes below them. Both escape text from files for the terminal and for Markdown.
class Page {
 public:
  explicit Page(bool markdown) : markdown_(markdown) {}
  void table(const std::vector<Column>& columns, const std::vector<Line>& lines) {
    if (lines.empty()) return;
    if (!tables_.empty()) tables_ += "\n";
    tables_ += markdown_ ? markdown_table(columns, lines) : terminal_table(columns, lines);
  }
  /// The text, or, if it would make a table too wide for a terminal, the number of its footnote.
  std::string brief(const std::string& text, std::size_t width) {
    return markdown_ || shown_width(text) <= width ? text : legend_.footnote(text);
  }
  /// A term as it is printed: a long one is cut, and its footnote has the whole.
  std::string term(const std::string& name) {
    const std::string whole = brief(name, most_term);
    return whole == name ? name : fmt::format("{} {}", shortened(name, most_term), whole);
  }
  void note(const std::string& text) {
    notes_.push_back({{text}, ""});
    legend_.add(text);
  }
  std::string text() {
    const std::string notes = legend_.text(false);
    if (markdown_)
      table({{"notes"}}, notes_);
    else if (!notes.empty())
      tables_ += "\nnotes\n-----\n" + notes;
    return tables_;
  }

 private:
  bool markdown_;
  std::string tables_;
  std::vector<Line> notes_;
  Legend legend_;
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

void add_head(Page& page, const json& document) {
  std::vector<Line> lines;
  const auto say = [&](const std::string& what, const std::string& text) {
    lines.push_back({{what, text}, ""});
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
  page.table({{"model"}, {document.at("formula").get<std::string>()}}, lines);
}

void add_coefficients(Page& page, const json& document) {
  bool speedups = false;
  for (const json& coefficient : document.at("coefficients"))
    speedups = speedups || coefficient.at("speedup").is_number();
  std::vector<Column> columns{{"term"},    {"estimate", true}, {"SE", true},
                              {"t", true}, {"p", true},        {"95 % interval", true}};
  if (speedups) {
    columns.push_back({"speedup", true});
    columns.push_back({"95 % interval", true});
  }
  columns.push_back({"note"});
  std::vector<Line> lines;
  for (const json& coefficient : document.at("coefficients")) {
    Line line{{page.term(coefficient.at("term")), number(coefficient.at("estimate")),
               number(coefficient.at("se")), number(coefficient.at("t")),
               p_value(coefficient.at("p")), interval(coefficient.at("interval"))},
              ""};
    if (speedups) {
      line.cells.push_back(
          coefficient.at("speedup").is_number() ? number(coefficient.at("speedup")) + "x" : "-");
      line.cells.push_back(interval(coefficient.at("speedup_interval")));
    }
    std::vector<std::string> notes;
    for (const char* what : {"note", "reason"})
      if (coefficient.at(what).is_string()) notes.push_back(coefficient.at(what));
    line.cells.push_back(page.brief(join(notes, "; "), most_remark));
    lines.push_back(std::move(line));
  }
  page.table(columns, lines);
}

void add_checks(Page& page, const json& document) {
  page.table(
      {{"aliased term"}, {"because"}}, lines_of(document.at("aliased"), [&](const json& alias) {
        return Line{{page.term(alias.at("term")), page.brief(alias.at("because"), most_text)}, ""};
      }));
  page.table({{"left out, then predicted"},
              {"n", true},
              {"RMS error", true},
              {"worst ratio", true},
              {"worst"}},
             lines_of(document.at("validation"), [&](const json& check) {
               const char* name = check.at("left_out").is_string() ? "left_out" : "kind";
               Line line{{page.brief(check.at(name), most_text),
                          std::to_string(check.at("n").get<std::size_t>())},
                         ""};
               if (check.at("reason").is_string()) {
                 line.note = check.at("reason");
                 return line;
               }
               line.cells.push_back(number(check.at("rms_error")));
               line.cells.push_back(number(check.at("worst_ratio")));
               line.cells.push_back(page.brief(check.at("worst"), most_text));
               return line;
             }));
}

void add_predictions(Page& page, const json& document) {
  const std::string unit = document.at("response").at("unit");
  std::vector<Line> lines;
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
    lines.push_back({{join(given, ", "), in_unit(prediction.at("value"), unit),
                      range.is_array() ? fmt::format("{} .. {}", in_unit(range[0], unit),
                                                     in_unit(range[1], unit))
                                       : "-",
                      join(notes, "; ")},
                     ""});
  }
  page.table({{"predicted for"},
              {document.at("response").at("column").get<std::string>(), true},
              {"95 % interval", true},
              {"note"}},
             lines);
}

}  // namespace

std::string render_model(const json& document, bool markdown) {
  Page page(markdown);
  add_head(page, document);
  add_coefficients(page, document);
  add_checks(page, document);
  add_predictions(page, document);
  for (const json& coefficient : document.at("coefficients"))
    if (coefficient.at("speedup").is_number()) {
      page.note(
          "speedup: of the level over its reference, all else equal; above 1 the level is faster");
      break;
    }
  if (!document.at("predictions").empty())
    page.note("predictions: the interval contains one new observation with a probability of 95 %");
  for (const json& note : document.at("notes")) page.note(note);
  for (const Line& line : lines_of(document.at("citations"), [](const json& citation) {
         return Line{{"published: " + citation.get<std::string>()}, ""};
       }))
    page.note(line.cells.empty() ? line.note : line.cells.front());
  return page.text();
}

std::string model_csv(const json& document) {
  const auto quoted = [](const json& value) -> std::string {
    if (!value.is_string()) return value.is_null() ? "" : value.dump();
    std::string text;
    for (const char c : value.get_ref<const std::string&>())
      text += c == '"' ? "\"\"" : std::string(1, c);
    return '"' + text + '"';
  };
  std::string text = "term,estimate,se,t,p,low,high,speedup,speedup_low,speedup_high,note\r\n";
  for (const json& coefficient : document.at("coefficients")) {
    const auto end = [&](const char* name, std::size_t i) {
      const json& range = coefficient.at(name);
      return range.is_array() ? range[i] : json();
    };
    const json& note =
        coefficient.at("reason").is_string() ? coefficient.at("reason") : coefficient.at("note");
    std::vector<std::string> cells;
    for (const json& cell :
         {coefficient.at("term"), coefficient.at("estimate"), coefficient.at("se"),
          coefficient.at("t"), coefficient.at("p"), end("interval", 0), end("interval", 1),
          coefficient.at("speedup"), end("speedup_interval", 0), end("speedup_interval", 1), note})
      cells.push_back(quoted(cell));
    text += join(cells, ",") + "\r\n";
  }
  for (const json& alias : document.at("aliased"))
    text += fmt::format("{},,,,,,,,,,{}\r\n", quoted(alias.at("term")),
                        quoted("aliased: " + alias.at("because").get<std::string>()));
  return text;
}

}  // namespace assay
