#include "analysis/table/layer_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/result/layers.hpp"
#include "core/result/result.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Of a layer in a step, or of several layers together.
struct Time {
  int layers = 0;
  double seconds = 0, flops = 0, bytes = 0, least = 0;
  bool has_ceiling = true;
  std::string bound_by;

  void add(const json& layer) {
    const double runs = layer.at("runs");
    const double its_seconds = layer.at("seconds").get<double>() * runs;
    ++layers;
    seconds += its_seconds;
    flops += layer.at("flops").get<double>() * runs;
    bytes += layer.at("bytes").get<double>() * runs;
    const json& ceiling = layer.at("ceiling");
    has_ceiling = has_ceiling && ceiling.is_object();
    if (!ceiling.is_object()) return;
    least += ceiling.at("fraction").get<double>() * its_seconds;
    const std::string bound = ceiling.at("bound_by");
    bound_by = bound_by.empty() || bound_by == bound ? bound : "several";
  }
};

Time time_of(const json& layer) {
  Time time;
  time.add(layer);
  return time;
}

/// "conv bwd_data"; "update" of what has one direction.
std::string operation_of(const json& layer) {
  const std::string kind = layer.at("operation"), direction = layer.at("direction");
  return kind == direction ? kind : kind + " " + direction;
}

std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

/// Time, share of the sum, rate, part of the ceiling and what that is.
std::vector<std::string> cells_of(const Time& time, double sum, const std::string& mark) {
  std::string rate = "-";
  if (time.seconds > 0 && time.flops > 0)
    rate = human(time.flops / time.seconds, "FLOP/s") + mark;
  else if (time.seconds > 0 && time.bytes > 0)
    rate = human(time.bytes / time.seconds, "B/s") + mark;
  const bool bounded = time.has_ceiling && time.seconds > 0;
  return {human_seconds(time.seconds) + mark, sum > 0 ? percent(time.seconds / sum) : "-", rate,
          bounded ? percent(time.least / time.seconds) + mark : "-", bounded ? time.bound_by : "-"};
}

std::string rendered(const std::vector<Column>& columns, const std::vector<Line>& lines,
                     bool markdown) {
  return markdown ? markdown_table(columns, lines) : terminal_table(columns, lines);
}

/// The launch whose time is the median of all, the lower one of two.
const json& middle(const Series& series) {
  std::vector<const json*> rows;
  for (const json& row : series.rows)
    if (series.status == "ok" && row.at("status") == "ok" && row.contains("layers"))
      rows.push_back(&row);
  std::sort(rows.begin(), rows.end(), [](const json* a, const json* b) {
    return a->at("time_s").at("median") < b->at("time_s").at("median");
  });
  static const json none;
  return rows.empty() ? none : *rows[(rows.size() - 1) / 2];
}

struct ChosenRow {
  std::string result;
  json row;
};

std::vector<ChosenRow> chosen_rows(const std::vector<NamedResult>& results,
                                   const TableOptions& options) {
  std::vector<ChosenRow> rows;
  for (const Series& series : selected(results, options))
    if (const json& row = middle(series); !row.is_null())
      rows.push_back({results[series.result].name, row});
  if (rows.empty())
    throw InputError(
        "--layers: no chosen row has layers (rows of a network that are ok have them). Run "
        "assay-resnet50.");
  return rows;
}

std::string by_operation(const json& layers, double sum, const std::string& mark, bool markdown) {
  std::map<std::string, Time> groups;
  for (const json& layer : layers) groups[operation_of(layer)].add(layer);
  std::vector<std::pair<std::string, Time>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  std::vector<Line> lines;
  for (const auto& [name, time] : sorted) {
    Line line{{name, std::to_string(time.layers)}, {}};
    for (std::string& cell : cells_of(time, sum, mark)) line.cells.push_back(std::move(cell));
    lines.push_back(std::move(line));
  }
  return rendered({{"operation"},
                   {"layers", true},
                   {"time", true},
                   {"share", true},
                   {"rate", true},
                   {"of ceiling", true},
                   {"bound by"}},
                  lines, markdown);
}

std::string by_layer(const json& layers, double sum, const std::string& mark, bool markdown) {
  std::vector<const json*> sorted;
  for (const json& layer : layers) sorted.push_back(&layer);
  std::stable_sort(sorted.begin(), sorted.end(), [](const json* a, const json* b) {
    return time_of(*a).seconds > time_of(*b).seconds;
  });
  std::vector<Line> lines;
  for (const json* layer : sorted) {
    const json& algorithm = layer->at("algorithm");
    Line line{{layer->at("layer"), operation_of(*layer)}, {}};
    for (std::string& cell : cells_of(time_of(*layer), sum, mark))
      line.cells.push_back(std::move(cell));
    line.cells.push_back(layer->at("backend"));
    line.cells.push_back(algorithm.is_string() ? algorithm.get<std::string>() : "-");
    lines.push_back(std::move(line));
  }
  return rendered({{"layer"},
                   {"operation"},
                   {"time", true},
                   {"share", true},
                   {"rate", true},
                   {"of ceiling", true},
                   {"bound by"},
                   {"backend"},
                   {"algorithm"}},
                  lines, markdown);
}

/// Of layers whose times contain the host's; "" if there are none.
std::string host_note(const json& layers) {
  std::size_t count = 0;
  std::string why;
  for (const json& layer : layers)
    if (const std::string its = layer.value("host_included", ""); !its.empty() && ++count == 1)
      why = its;
  if (count == 0) return "";
  return fmt::format("The times of {} of {} layers may contain the host's: {}.", count,
                     layers.size(), why);
}

std::string notes(const json& row, const json& sum, bool markdown) {
  const double seconds = sum.at("seconds"), median = row.at("time_s").at("median");
  const std::string mark = mark_of(row);
  std::vector<std::string> lines{fmt::format(
      "The layers take {}{} together, {} of the median run of {}{}. They were timed "
      "in separate runs after the timed ones (a GPU's by its own clock, without the "
      "host's time); the rest of a run is input, communication that is not hidden, and "
      "what a GPU waits for its host.",
      human_seconds(seconds), mark, percent(seconds / median), human_seconds(median), mark)};
  if (sum.at("agrees") == false)
    lines.push_back(
        fmt::format("The sum of the layers differs from the median run by more than {:.0f} % "
                    "(layers_sum.agrees of the row).",
                    100 * layers_agree_within));
  if (std::string note = host_note(row.at("layers")); !note.empty())
    lines.push_back(std::move(note));
  if (row.at("ceiling").is_object())
    lines.emplace_back(
        "of ceiling: the least time that peak and bandwidth allow / time; above 100 %, the "
        "previous layer left its data in a cache.");
  else
    lines.push_back("No ceilings: " + row.at("ceiling_reason").get<std::string>() + ".");
  if (!mark.empty()) lines.emplace_back(note_of(mark));
  std::string text;
  for (const std::string& line : lines)
    text += (markdown ? markdown_text(line) + "\n" : wrapped(visible(line), table_width)) + "\n";
  return text;
}

std::string layers_of(const ChosenRow& chosen, bool markdown) {
  const json &row = chosen.row, &layers = row.at("layers");
  const std::string mark = mark_of(row), id = (chosen.result.empty() ? "" : chosen.result + ": ") +
                                              row.at("id").get<std::string>();
  // Files of older versions do not have it.
  const json together = row.contains("layers_sum") ? row["layers_sum"] : layers_sum(row);
  const double sum = together.at("seconds");
  return (markdown ? "## " + markdown_text(id) + "\n" : visible(id)) + "\n" +
         by_operation(layers, sum, mark, markdown) + "\n" + by_layer(layers, sum, mark, markdown) +
         "\n" + notes(row, together, markdown);
}

}  // namespace

std::string layer_table(const std::vector<NamedResult>& results, const TableOptions& options) {
  std::string text;
  for (const ChosenRow& chosen : chosen_rows(results, options))
    text += (text.empty() ? "" : "\n") + layers_of(chosen, options.markdown);
  return text;
}

std::string layer_csv(const std::vector<NamedResult>& results, const TableOptions& options) {
  constexpr const char* plain[] = {"layer",   "direction", "operation", "problem",
                                   "backend", "algorithm", "compute",   "runs",
                                   "seconds", "flops",     "bytes"};
  std::vector<Column> columns{{"result"}, {"id"}, {"launch"}};
  for (const char* const name : plain) columns.push_back({name});
  for (const char* const name : {"flops_per_s", "bytes_per_s", "ceiling_fraction", "bound_by"})
    columns.push_back({name});
  const auto text = [](const json& of, const char* name) {
    const json value = of.is_object() ? of.value(name, json()) : json();
    return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : value.dump();
  };
  std::vector<Line> lines;
  for (const auto& [result, row] : chosen_rows(results, options))
    for (const json& layer : row.at("layers")) {
      Line line{{result, text(row, "id"), text(row, "launch")}, {}};
      for (const char* const name : plain) line.cells.push_back(text(layer, name));
      for (const char* const name : {"flops_per_s", "bytes_per_s"})
        line.cells.push_back(text(layer.at("rates"), name));
      for (const char* const name : {"fraction", "bound_by"})
        line.cells.push_back(text(layer.at("ceiling"), name));
      lines.push_back(std::move(line));
    }
  return csv_table(columns, lines);
}

}  // namespace assay
