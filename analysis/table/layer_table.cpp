#include "analysis/table/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/page.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/result/layers.hpp"

namespace assay {

namespace {

/// A layer of a step, or several layers together.
struct LayerGroup {
  std::string layer{}, operation{}, backend{}, algorithm{};  ///< of the last one
  int layers = 0;
  double seconds = 0, flops = 0, bytes = 0, least = 0;
  bool has_ceiling = true;
  std::string bound_by{};

  void add(const RowLayer& added) {
    layer = added.layer;
    // "conv bwd_data"; "update" has one direction.
    operation = added.operation;
    if (added.operation != added.direction) operation += " " + added.direction;
    backend = added.backend;
    algorithm = added.algorithm.empty() ? "-" : added.algorithm;
    const auto runs = static_cast<double>(added.runs);
    const double its_seconds = added.seconds * runs;
    ++layers;
    seconds += its_seconds;
    flops += added.flops * runs;
    bytes += added.bytes * runs;
    has_ceiling = has_ceiling && added.ceiling;
    if (!added.ceiling) return;
    const RowCeiling& ceiling = *added.ceiling;
    least += ceiling.fraction.value_or(0) * its_seconds;
    bound_by = bound_by.empty() || bound_by == ceiling.bound_by ? ceiling.bound_by : "several";
  }
};

std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

/// The layers by time, the longest first: time, fraction of the sum, rate, fraction of the ceiling,
/// and name.
Table make_table(std::vector<LayerGroup> groups, bool single, double sum, const std::string& mark) {
  std::ranges::stable_sort(groups, std::ranges::greater(), &LayerGroup::seconds);
  Table table{{}, std::vector<Line>(groups.size())};
  const auto add = [&](const char* title, bool right, const auto& cell, int spare = 0) {
    table.add({title, right, "", spare},
              [&](std::size_t i) -> std::string { return cell(groups[i]); });
  };
  if (single) add("layer", false, [](const LayerGroup& group) { return group.layer; });
  add("operation", false, [](const LayerGroup& group) { return group.operation; });
  if (!single)
    add("layers", true, [](const LayerGroup& group) { return std::to_string(group.layers); });
  const auto bounded = [](const LayerGroup& group) {
    return group.has_ceiling && group.seconds > 0;
  };
  add("time", true, [&](const LayerGroup& group) { return format_seconds(group.seconds) + mark; });
  add(
      "share", true,
      [&](const LayerGroup& group) { return sum > 0 ? percent(group.seconds / sum) : "-"; }, 1);
  add(
      "rate", true,
      [&](const LayerGroup& group) {
        if (group.seconds > 0 && group.flops > 0)
          return format_with_unit(group.flops / group.seconds, "FLOP/s") + mark;
        return group.seconds > 0 && group.bytes > 0
                   ? format_with_unit(group.bytes / group.seconds, "B/s") + mark
                   : "-";
      },
      2);
  add("of ceiling", true, [&](const LayerGroup& group) {
    return bounded(group) ? percent(group.least / group.seconds) + mark : "-";
  });
  add(
      "bound by", false,
      [&](const LayerGroup& group) { return bounded(group) ? group.bound_by : "-"; }, 4);
  if (!single) return table;
  add(
      "backend", false, [](const LayerGroup& group) { return group.backend; }, 5);
  add(
      "algorithm", false, [](const LayerGroup& group) { return group.algorithm; }, 3);
  return table;
}

struct ChosenRow {
  std::string result;
  Row row;
};

/// The launch of each series with the median time; of two, the lower one.
std::vector<ChosenRow> choose_rows(const Results& results, const TableOptions& options) {
  std::vector<ChosenRow> chosen;
  for (const Series& series : select_series(results, options)) {
    std::vector<const Row*> rows;
    for (const Row& row : series.rows)
      if (series.status == "ok" && row.is_ok() && !row.layers.empty()) rows.push_back(&row);
    std::ranges::sort(rows, {}, &Row::median);
    if (!rows.empty())
      chosen.push_back({results[series.result].name, *rows[(rows.size() - 1) / 2]});
  }
  if (chosen.empty())
    throw InputError(
        "--layers: no chosen row has layers (rows of a network that are ok have them). Run "
        "assay-resnet50.");
  return chosen;
}

Texts make_notes(const Row& row, const RowLayersSum& sum, const std::string& mark) {
  Texts lines{
      fmt::format("The layers take {}{} together, {} of the median run of {}{}. They were timed "
                  "in separate runs after the timed ones (a GPU's by its own clock, without the "
                  "host's time); the rest of a run is input, communication that is not hidden, and "
                  "what a GPU waits for its host.",
                  format_seconds(sum.seconds), mark, percent(sum.seconds / row.median()),
                  format_seconds(row.median()), mark)};
  if (!sum.agrees)
    lines.push_back(
        fmt::format("The sum of the layers differs from the median run by more than {:.0f} % "
                    "(layers_sum.agrees of the row).",
                    100 * layers_agree_within));
  const auto of_host = [](const RowLayer& layer) { return !layer.host_included.empty(); };
  if (const auto first = std::ranges::find_if(row.layers, of_host); first != row.layers.end())
    lines.push_back(fmt::format("The times of {} of {} layers may contain the host's: {}.",
                                std::ranges::count_if(row.layers, of_host), row.layers.size(),
                                first->host_included));
  lines.push_back(row.ceiling
                      ? "of ceiling: the least time that peak and bandwidth allow / time; above "
                        "100 %, the previous layer left its data in a cache."
                      : "No ceilings: " + row.ceiling_reason + ".");
  if (!mark.empty()) lines.emplace_back(explain_mark(mark));
  return lines;
}

void add_layers(Page& page, const ChosenRow& chosen) {
  const Row& row = chosen.row;
  const RowLayersSum sum = row.layers_sum.value_or(sum_layers(row));
  const std::string mark = choose_mark(row);
  std::map<std::string, LayerGroup> by_operation;
  std::vector<LayerGroup> layers, operations;
  for (const RowLayer& layer : row.layers) {
    layers.emplace_back().add(layer);
    by_operation[layers.back().operation].add(layer);
  }
  for (const auto& [name, group] : by_operation) operations.push_back(group);
  page.title((chosen.result.empty() ? "" : chosen.result + ": ") + row.id);
  page.table(make_table(operations, false, sum.seconds, mark));
  page.part(make_table(layers, true, sum.seconds, mark));
  page.blank();
  for (const std::string& note : make_notes(row, sum, mark)) {
    page.line(note);
    page.gap();
  }
}

}  // namespace

std::string render_layer_table(const Results& results, const TableOptions& options) {
  Page page(options.markdown, options.latex);
  for (const ChosenRow& chosen : choose_rows(results, options)) add_layers(page, chosen);
  return page.text();
}

RecordList make_layer_records(const Results& results, const TableOptions& options) {
  std::vector<nlohmann::json> records;
  for (const auto& [result, row] : choose_rows(results, options))
    for (const RowLayer& layer : row.layers) {
      nlohmann::json& record = records.emplace_back(layer);
      for (const auto& [name, rate] : layer.rates) record[name] = number_or_null(rate);
      record.update({{"result", result},
                     {"id", row.id},
                     {"launch", row.launch},
                     {"ceiling_fraction",
                      number_or_null(layer.ceiling ? layer.ceiling->fraction : std::nullopt)},
                     {"bound_by", layer.ceiling ? layer.ceiling->bound_by : ""}});
    }
  return {{"result", "id", "launch", "layer", "direction", "operation", "problem", "backend",
           "algorithm", "compute", "runs", "seconds", "flops", "bytes", "flops_per_s",
           "bytes_per_s", "ceiling_fraction", "bound_by"},
          records};
}

}  // namespace assay
