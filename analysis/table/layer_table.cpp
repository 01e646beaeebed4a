#include "analysis/table/layer_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/page.hpp"
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

/// Adds time, share of the sum, rate, part of the ceiling and what that is.
void add_times(Table& table, const std::vector<Time>& times, double sum, const std::string& mark) {
  const auto add = [&](const char* title, bool right, const auto& cell) {
    table.add({title, right}, [&](std::size_t i) -> std::string { return cell(times[i]); });
  };
  const auto bounded = [](const Time& time) { return time.has_ceiling && time.seconds > 0; };
  add("time", true, [&](const Time& time) { return human_seconds(time.seconds) + mark; });
  add("share", true, [&](const Time& time) { return sum > 0 ? percent(time.seconds / sum) : "-"; });
  add("rate", true, [&](const Time& time) {
    if (time.seconds > 0 && time.flops > 0)
      return human(time.flops / time.seconds, "FLOP/s") + mark;
    return time.seconds > 0 && time.bytes > 0 ? human(time.bytes / time.seconds, "B/s") + mark
                                              : "-";
  });
  add("of ceiling", true, [&](const Time& time) {
    return bounded(time) ? percent(time.least / time.seconds) + mark : "-";
  });
  add("bound by", false, [&](const Time& time) { return bounded(time) ? time.bound_by : "-"; });
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

Table by_operation(const json& layers, double sum, const std::string& mark) {
  std::map<std::string, Time> groups;
  for (const json& layer : layers) groups[operation_of(layer)].add(layer);
  std::vector<std::pair<std::string, Time>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  std::vector<Time> times;
  for (const auto& [name, time] : sorted) times.push_back(time);
  Table table{{}, std::vector<Line>(sorted.size())};
  table.add({"operation"}, [&](std::size_t i) { return sorted[i].first; });
  table.add({"layers", true}, [&](std::size_t i) { return std::to_string(times[i].layers); });
  add_times(table, times, sum, mark);
  return table;
}

Table by_layer(const json& layers, double sum, const std::string& mark) {
  std::vector<json> sorted(layers.begin(), layers.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const json& a, const json& b) {
    return time_of(a).seconds > time_of(b).seconds;
  });
  std::vector<Time> times;
  for (const json& layer : sorted) times.push_back(time_of(layer));
  Table table{{}, std::vector<Line>(sorted.size())};
  table.add({"layer"}, [&](std::size_t i) { return text_of(sorted[i], "layer"); });
  table.add({"operation"}, [&](std::size_t i) { return operation_of(sorted[i]); });
  add_times(table, times, sum, mark);
  table.add({"backend"}, [&](std::size_t i) { return text_of(sorted[i], "backend"); });
  table.add({"algorithm"}, [&](std::size_t i) {
    const json& algorithm = sorted[i].at("algorithm");
    return algorithm.is_string() ? algorithm.get<std::string>() : "-";
  });
  return table;
}

/// Names the layers whose times contain the host's; "" if there are none.
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

std::vector<std::string> notes_of(const json& row, const json& sum) {
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
  return lines;
}

void add_layers(Page& page, const ChosenRow& chosen) {
  const json &row = chosen.row, &layers = row.at("layers");
  // Files of older versions do not have it.
  const json together = row.contains("layers_sum") ? row["layers_sum"] : layers_sum(row);
  const double sum = together.at("seconds");
  const std::string mark = mark_of(row);
  if (page.markdown()) page.add("## ");
  page.statement((chosen.result.empty() ? "" : chosen.result + ": ") + text_of(row, "id"));
  page.gap();
  page.table(by_operation(layers, sum, mark));
  page.part(by_layer(layers, sum, mark));
  page.blank();
  for (const std::string& note : notes_of(row, together)) {
    page.line(note);
    page.gap();
  }
}

}  // namespace

std::string layer_table(const std::vector<NamedResult>& results, const TableOptions& options) {
  Page page(options.markdown);
  for (const ChosenRow& chosen : chosen_rows(results, options)) {
    if (!page.text().empty()) page.blank();
    add_layers(page, chosen);
  }
  return page.text();
}

std::string layer_csv(const std::vector<NamedResult>& results, const TableOptions& options) {
  std::vector<json> records;
  for (const auto& [result, row] : chosen_rows(results, options))
    for (const json& layer : row.at("layers")) {
      json& record = records.emplace_back(layer);
      record["result"] = result;
      for (const char* key : {"id", "launch"}) record[key] = text_of(row, key);
      record.update(layer.at("rates"));
      const json ceiling = layer.at("ceiling").is_object() ? layer["ceiling"] : json::object();
      record["ceiling_fraction"] = ceiling.value("fraction", json());
      record["bound_by"] = ceiling.value("bound_by", json());
    }
  return csv_of({"result", "id", "launch", "layer", "direction", "operation", "problem", "backend",
                 "algorithm", "compute", "runs", "seconds", "flops", "bytes", "flops_per_s",
                 "bytes_per_s", "ceiling_fraction", "bound_by"},
                records);
}

}  // namespace assay
