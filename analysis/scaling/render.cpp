#include <fmt/format.h>

#include <algorithm>

#include "analysis/scaling/document.hpp"
#include "analysis/text_table.hpp"
#include "core/base/units.hpp"

namespace assay::scaling {

using nlohmann::json;

namespace {

class ScalePage {
 public:
  explicit ScalePage(bool markdown) : markdown_(markdown) {}
  void table(const std::vector<Column>& columns, const std::vector<Line>& lines) {
    if (lines.empty()) return;
    if (!text_.empty()) text_ += "\n";
    text_ += markdown_ ? markdown_table(columns, lines) : terminal_table(columns, lines);
  }
  /// A short mark for a long text, which end() prints.
  std::string source(const std::string& text) {
    auto place = std::find(sources_.begin(), sources_.end(), text);
    if (place == sources_.end()) place = sources_.insert(place, text);
    return fmt::format("[{}]", place - sources_.begin() + 1);
  }
  void lines(const std::vector<std::string>& lines) {
    text_ += "\n";
    for (const std::string& line : lines)
      text_ += markdown_ ? "- " + markdown_text(line) + "\n"
                         : wrapped(visible(line), table_width) + "\n";
  }
  std::string end() {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < sources_.size(); ++i)
      all.push_back(fmt::format("[{}] {}", i + 1, sources_[i]));
    lines(all);
    return text_;
  }

 private:
  bool markdown_;
  std::string text_;
  std::vector<std::string> sources_;
};

std::string value_text(const json& value, const std::string& unit) {
  if (value.is_string()) return value;
  if (!value.is_number()) return "-";
  const auto number = value.get<double>();
  if (unit == "s") return human_seconds(number);
  if (unit == "B/s") return human(number, unit);
  const std::string text = value.is_number_integer() ? fmt::format("{}", value.get<std::int64_t>())
                                                     : fmt::format("{:.4g}", number);
  return unit.empty() ? text : text + " " + unit;
}

std::string percent(const json& part, bool sign = false) {
  if (!part.is_number()) return "-";
  return sign ? fmt::format("{:+.1f} %", 100 * part.get<double>())
              : fmt::format("{:.1f} %", 100 * part.get<double>());
}

std::string source_text(const json& input) {
  std::string text = input["source"];
  if (input["rows"].size() == 1) text += ", " + input["rows"][0].get<std::string>();
  if (input["rows"].size() > 1)
    text +=
        fmt::format(", {} rows from {}", input["rows"].size(), input["rows"][0].get<std::string>());
  if (input["fit"].is_object())
    text += fmt::format(", R2 {:.4f}", input["fit"]["r2"].get<double>());
  return text;
}

std::string title_of(const json& curve) {
  return curve["scaling"] == "weak"
             ? fmt::format("weak scaling, batch {} a rank", curve["batch"].get<std::int64_t>())
             : fmt::format("strong scaling, batch {} of all ranks",
                           curve["global_batch"].get<std::int64_t>());
}

void add_curves(ScalePage& page, const json& curves) {
  for (std::size_t first = 0; first < curves.size();) {
    std::size_t end = first;
    while (end < curves.size() && curves[end]["index"] == curves[first]["index"]) ++end;
    std::vector<Line> lines;
    for (std::size_t point = 0; point < curves[first]["points"].size(); ++point)
      for (std::size_t i = first; i < end; ++i) {
        const json& at = curves[i]["points"][point];
        Line line{{fmt::format("{}", at["ranks"].get<int>()), curves[i]["algorithm"]}, ""};
        if (at["reason"].is_string()) {
          line.note = "unsupported: " + at["reason"].get<std::string>();
        } else {
          for (const std::string& cell :
               {value_text(at["step_s"], "s"),
                fmt::format("{:.5g}", at["images_per_s"].get<double>()), percent(at["efficiency"]),
                value_text(at["communication_s"], "s"), value_text(at["exposed_s"], "s")})
            line.cells.push_back(cell);
        }
        lines.push_back(std::move(line));
      }
    page.table({{title_of(curves[first])},
                {"algorithm"},
                {"step", true},
                {"images/s", true},
                {"efficiency", true},
                {"communication", true},
                {"exposed", true}},
               lines);
    first = end;
  }
}

void add_published_points(ScalePage& page, const json& points) {
  std::vector<Line> lines;
  for (const json& point : points) {
    const bool part = point["quantity"] == "efficiency";
    const std::string unit = point["quantity"] == "step_s" ? "s" : "";
    const auto text = [&](const json& value) {
      return part ? percent(value) : value_text(value, unit);
    };
    std::string said = point["citation"];
    if (point["note"].is_string()) said += " (" + point["note"].get<std::string>() + ")";
    lines.push_back(
        {{fmt::format("{} ranks, {}: {}", point["ranks"].get<int>(),
                      point["algorithm"].get<std::string>(), point["quantity"].get<std::string>()),
          text(point["published"]), text(point["predicted"]), percent(point["error"], true),
          page.source(said)},
         ""});
  }
  page.table({{"published point"},
              {"published", true},
              {"predicted", true},
              {"prediction is off by", true},
              {"source"}},
             lines);
}

}  // namespace

std::string render_scaling(const json& document, bool markdown) {
  ScalePage page(markdown);
  std::vector<Line> inputs, algorithms;
  for (const json& input : document.at("inputs"))
    inputs.push_back({{input["name"], value_text(input["value"], input["unit"]), input["kind"],
                       page.source(source_text(input))},
                      ""});
  page.table({{document.at("name").get<std::string>()}, {"value", true}, {"kind"}, {"source"}},
             inputs);
  add_curves(page, document.at("curves"));
  add_published_points(page, document.at("published"));
  for (const json& algorithm : document.at("algorithms"))
    algorithms.push_back(
        {{algorithm["name"], algorithm["formula"], page.source(algorithm["source"])}, ""});
  page.table({{"algorithm"}, {"time of m bytes over p ranks"}, {"source"}}, algorithms);
  std::vector<std::string> notes{document.at("description")};
  for (const json& note : document.at("notes")) notes.push_back(note);
  std::erase(notes, "");
  page.lines(notes);
  return page.end();
}

std::string scaling_csv(const json& document) {
  std::vector<Line> lines;
  const auto exact = [](const json& value) {
    return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : value.dump();
  };
  for (const json& curve : document.at("curves"))
    for (const json& point : curve["points"]) {
      Line line;
      for (const char* key : {"scaling", "batch", "global_batch", "algorithm"})
        line.cells.push_back(exact(curve[key]));
      for (const char* key : {"ranks", "batch", "step_s", "images_per_s", "efficiency", "compute_s",
                              "communication_s", "exposed_s", "reason"})
        line.cells.push_back(exact(point[key]));
      lines.push_back(std::move(line));
    }
  return csv_table({{"scaling"},
                    {"curve_batch"},
                    {"global_batch"},
                    {"algorithm"},
                    {"ranks"},
                    {"batch"},
                    {"step_s"},
                    {"images_per_s"},
                    {"efficiency"},
                    {"compute_s"},
                    {"communication_s"},
                    {"exposed_s"},
                    {"reason"}},
                   lines);
}

}  // namespace assay::scaling
