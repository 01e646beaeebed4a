#include <fmt/format.h>

#include "analysis/page.hpp"
#include "analysis/scaling/document.hpp"
#include "core/base/units.hpp"

namespace assay::scaling {

using nlohmann::json;

namespace {

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

void add_curves(Page& page, const json& curves) {
  for (std::size_t first = 0; first < curves.size();) {
    std::size_t end = first;
    while (end < curves.size() && curves[end]["index"] == curves[first]["index"]) ++end;
    Table table{titled({title_of(curves[first]), "algorithm", ">step", ">images/s", ">efficiency",
                        ">communication", ">exposed"})};
    for (std::size_t point = 0; point < curves[first]["points"].size(); ++point)
      for (std::size_t i = first; i < end; ++i) {
        const json& at = curves[i]["points"][point];
        Line line{{fmt::format("{}", at["ranks"].get<int>()), curves[i]["algorithm"]}};
        if (at["reason"].is_string()) {
          line.note = "unsupported: " + at["reason"].get<std::string>();
        } else {
          for (const std::string& cell :
               {value_text(at["step_s"], "s"),
                fmt::format("{:.5g}", at["images_per_s"].get<double>()), percent(at["efficiency"]),
                value_text(at["communication_s"], "s"), value_text(at["exposed_s"], "s")})
            line.cells.push_back(cell);
        }
        table.lines.push_back(std::move(line));
      }
    page.part(table);
    first = end;
  }
}

void add_published_points(Page& page, const json& points, Legend& sources) {
  Table table{
      titled({"published point", ">published", ">predicted", ">prediction is off by", "source"})};
  for (const json& point : points) {
    const bool part = point["quantity"] == "efficiency";
    const std::string unit = point["quantity"] == "step_s" ? "s" : "";
    const auto text = [&](const json& value) {
      return part ? percent(value) : value_text(value, unit);
    };
    std::string said = point["citation"];
    if (point["note"].is_string()) said += " (" + point["note"].get<std::string>() + ")";
    table.lines.push_back(
        {{fmt::format("{} ranks, {}: {}", point["ranks"].get<int>(),
                      point["algorithm"].get<std::string>(), point["quantity"].get<std::string>()),
          text(point["published"]), text(point["predicted"]), percent(point["error"], true),
          sources.footnote(said)}});
  }
  page.part(table);
}

}  // namespace

std::string render_scaling(const json& document, bool markdown) {
  Page page(markdown);
  Legend sources;
  Table inputs{{{document.at("name").get<std::string>()}, {"value", true}, {"kind"}, {"source"}}};
  for (const json& input : document.at("inputs"))
    inputs.lines.push_back({{input["name"], value_text(input["value"], input["unit"]),
                             input["kind"], sources.footnote(source_text(input))}});
  page.part(inputs);
  add_curves(page, document.at("curves"));
  add_published_points(page, document.at("published"), sources);
  Table algorithms{{{"algorithm"}, {"time of m bytes over p ranks"}, {"source"}}};
  for (const json& algorithm : document.at("algorithms"))
    algorithms.lines.push_back(
        {{algorithm["name"], algorithm["formula"], sources.footnote(algorithm["source"])}});
  page.part(algorithms);
  page.blank();
  Legend notes;
  notes.add(document.at("description"));
  for (const json& note : document.at("notes")) notes.add(note);
  page.notes(notes.lines());
  page.blank();
  page.notes(sources.lines());
  return page.text();
}

std::string scaling_csv(const json& document) {
  std::vector<json> records;
  for (const json& curve : document.at("curves"))
    for (const json& point : curve["points"]) {
      json& record = records.emplace_back(point);
      for (const char* key : {"scaling", "global_batch", "algorithm"}) record[key] = curve[key];
      record["curve_batch"] = curve["batch"];
    }
  return csv_of(
      {"scaling", "curve_batch", "global_batch", "algorithm", "ranks", "batch", "step_s",
       "images_per_s", "efficiency", "compute_s", "communication_s", "exposed_s", "reason"},
      records);
}

}  // namespace assay::scaling
