#include <fmt/format.h>

#include <algorithm>

#include "analysis/page.hpp"
#include "analysis/scaling/document.hpp"
#include "core/base/units.hpp"

namespace assay::scaling {

using nlohmann::json;

namespace {

std::string value_text(const json& value, const std::string& unit) {
  if (value.is_string()) return value;
  if (unit == "s") return format_seconds(value);
  if (unit == "B/s") return format_with_unit(value, unit);
  return (value.is_number_integer() ? value.dump() : fmt::format("{:.4g}", value.get<double>())) +
         (unit.empty() ? "" : " " + unit);
}

std::string format_optional(const std::optional<double>& value, const std::string& unit) {
  return value ? value_text(*value, unit) : "-";
}

std::string percent(const std::optional<double>& part) {
  return part ? fmt::format("{:.1f} %", 100 * *part) : "-";
}

std::string describe_source(const Source& input) {
  std::string text = input.source;
  if (input.rows.size() == 1) text += ", " + input.rows.front();
  if (input.rows.size() > 1)
    text += fmt::format(", {} rows from {}", input.rows.size(), input.rows.front());
  if (input.fit) text += fmt::format(", R2 {:.4f}", input.fit->r2);
  return text;
}

std::string make_title(const CurveInput& curve) {
  return curve.batch ? fmt::format("weak scaling, batch {} a rank", *curve.batch)
                     : fmt::format("strong scaling, batch {} of all ranks", *curve.global_batch);
}

/// A table for each curve of the input: its algorithms one below the other, by ranks.
void add_curves(Page& page, const ScalingDocument& document) {
  const std::size_t together = document.algorithms.size();
  for (std::size_t first = 0; first < document.curves.size(); first += together) {
    const PredictedCurve& top = document.curves[first];
    Table table{make_columns({make_title(top.batches), "algorithm", ">step", ">images/s",
                              ">efficiency", ">communication|1", ">exposed|2"})};
    for (std::size_t i = 0; i < top.points.size(); ++i)
      for (std::size_t j = first; j < first + together; ++j) {
        const PredictedPoint& point = document.curves[j].points[i];
        Line line{{std::to_string(point.ranks), document.curves[j].algorithm}};
        if (!point.reason.empty())
          line.note = "unsupported: " + point.reason;
        else
          line.cells.insert(
              line.cells.end(),
              {format_seconds(*point.step_s), fmt::format("{:.5g}", *point.images_per_s),
               percent(point.efficiency), format_seconds(*point.communication_s),
               format_seconds(*point.exposed_s)});
        table.lines.push_back(std::move(line));
      }
    page.part(table);
  }
}

void add_ways(Page& page, const ScalingDocument& document) {
  Table table{
      make_columns({"way", ">ranks", ">step", ">images/s", ">efficiency", ">communication|1"})};
  const bool several = document.ways.back().index > 0;
  if (several) table.columns.insert(table.columns.begin(), {"scaling"});
  for (const WayPoint& point : document.ways) {
    Line line{{point.way, std::to_string(point.ranks)}};
    const auto curve = std::ranges::find(document.curves, point.index, &PredictedCurve::index);
    if (several) line.cells.insert(line.cells.begin(), make_title(curve->batches));
    if (!point.reason.empty())
      line.note = "unsupported: " + point.reason;
    else
      line.cells.insert(line.cells.end(),
                        {format_seconds(*point.step_s), fmt::format("{:.5g}", *point.images_per_s),
                         percent(point.efficiency), format_seconds(*point.communication_s)});
    table.lines.push_back(std::move(line));
  }
  page.part(table);
}

void add_control(Page& page, const std::vector<ControlPoint>& points) {
  Table table{make_columns({"order of tensors", ">ranks", ">messages of the busiest rank", ">time",
                            ">efficiency at most"})};
  for (const ControlPoint& point : points)
    table.lines.push_back(
        {{point.way, std::to_string(point.ranks), fmt::format("{:.0f}", point.messages),
          format_seconds(point.seconds), percent(point.efficiency)}});
  page.part(table);
}

void add_staging(Page& page, const std::vector<StagingPoint>& points) {
  Table table{
      make_columns({"nodes that stage", ">time", ">on a node", ">read by all nodes afterwards"})};
  for (const StagingPoint& point : points) {
    Line line{{std::to_string(point.nodes)}};
    if (!point.reason.empty())
      line.note = "unsupported: " + point.reason;
    else
      line.cells.insert(line.cells.end(),
                        {format_seconds(*point.seconds), format_with_unit(*point.node_bytes, "B"),
                         format_with_unit(*point.bytes_per_s, "B/s")});
    table.lines.push_back(std::move(line));
  }
  page.part(table);
}

void add_published_points(Page& page, const std::vector<ComparedPoint>& points, Legend& sources) {
  Table table{make_columns(
      {"published point", ">published", ">predicted", ">prediction is off by", "source"})};
  for (const ComparedPoint& point : points) {
    const PublishedPoint& published = point.published;
    const auto text = [&](const std::optional<double>& value) {
      return published.quantity == "efficiency"
                 ? percent(value)
                 : format_optional(value, published.quantity == "step_s" ? "s" : "");
    };
    table.lines.push_back(
        {{fmt::format("{} ranks, {}: {}", published.ranks, published.algorithm, published.quantity),
          text(published.value), text(point.predicted),
          point.error ? fmt::format("{:+.1f} %", 100 * *point.error) : "-",
          sources.footnote(published.note.empty()
                               ? published.citation
                               : fmt::format("{} ({})", published.citation, published.note))}});
  }
  page.part(table);
}

}  // namespace

std::string render_scaling(const ScalingDocument& document, bool markdown) {
  Page page(markdown);
  Legend sources, notes;
  Table inputs{{{document.name}, {"value", true}, {"kind"}, {"source"}}};
  for (const Source& input : document.inputs)
    inputs.lines.push_back({{input.name, value_text(input.value, input.unit), input.kind,
                             sources.footnote(describe_source(input))}});
  page.part(inputs);
  add_curves(page, document);
  if (!document.ways.empty()) add_ways(page, document);
  if (!document.staging.empty()) add_staging(page, document.staging);
  if (!document.control.empty()) add_control(page, document.control);
  add_published_points(page, document.published, sources);
  Table algorithms{make_columns({"algorithm", "time of m bytes over p ranks", "source"})};
  for (const AlgorithmCost& algorithm : document.algorithms)
    algorithms.lines.push_back(
        {{algorithm.name, algorithm.formula, sources.footnote(algorithm.source)}});
  page.part(algorithms);
  page.blank();
  notes.add(document.description);
  for (const std::string& note : document.notes) notes.add(note);
  page.notes(notes.lines());
  page.blank();
  page.notes(sources.lines());
  return page.text();
}

std::string render_scaling_csv(const ScalingDocument& document) {
  const json object = document;
  std::vector<json> records;
  for (const json& curve : object["curves"])
    for (const json& point : curve["points"]) {
      json& record = records.emplace_back(point);
      for (const char* key : {"scaling", "global_batch", "algorithm"}) record[key] = curve[key];
      record["curve_batch"] = curve["batch"];
    }
  return make_csv(
      {{"scaling", "curve_batch", "global_batch", "algorithm", "ranks", "batch", "step_s",
        "images_per_s", "efficiency", "compute_s", "communication_s", "exposed_s", "reason"},
       records});
}

}  // namespace assay::scaling
