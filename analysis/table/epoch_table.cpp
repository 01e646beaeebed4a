#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/page.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/field_table.hpp"
#include "analysis/table/pivot.hpp"
#include "analysis/table/table.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "core/result/quality.hpp"

namespace assay {

namespace {

/// What a training reached at the end of an epoch: the median of its launches.
struct EpochEnd {
  std::optional<double> loss{};
  std::map<std::string, std::optional<double>> scores{};  ///< by quality
};
using EpochEnds = std::map<int, EpochEnd>;

std::optional<double> median_at(const Series& series, int epoch, const std::string& name) {
  std::vector<double> values;
  for (const Row& row : series.rows)
    for (const std::map<std::string, double>& end : row.epochs)
      if (static_cast<int>(end.at("epoch")) == epoch && end.contains(name))
        values.push_back(end.at(name));
  // Launches that ended earlier have no value there: the others alone are no median of all.
  return values.size() == series.rows.size() ? std::optional(median(values)) : std::nullopt;
}

EpochEnds ends_of(const Series& series) {
  EpochEnds ends;
  for (const Row& row : series.rows)
    for (const std::map<std::string, double>& end : row.epochs) {
      const int epoch = static_cast<int>(end.at("epoch"));
      ends[epoch].loss = median_at(series, epoch, "training_loss");
      for (const char* quality : qualities)
        ends[epoch].scores[quality] = median_at(series, epoch, quality);
    }
  return ends;
}

/// The trainings whose rows are results, filtered and sorted. InputError if there is none.
SeriesList trained(const Results& results, const TableOptions& options) {
  SeriesList all = selected(results, options);
  std::erase_if(all, [](const Series& series) {
    return series.status != "ok" ||
           std::ranges::all_of(series.rows, [](const Row& row) { return row.epochs.empty(); });
  });
  if (all.empty())
    throw InputError(
        "no verified row has epochs (only trainings to an accuracy do: --epochs N of "
        "assay-resnet50). Leave --epochs out.");
  return all;
}

/// The qualities of the networks that these trainings have validated; accuracy, if none has.
Texts qualities_of(const SeriesList& all) {
  std::set<std::string> found;
  for (const Series& series : all)
    for (const Row& row : series.rows)
      for (const std::map<std::string, double>& end : row.epochs) found.insert(quality_of(end));
  found.erase("");
  return found.empty() ? Texts{"accuracy"} : Texts(found.begin(), found.end());
}

/// The trainings of a table: those of a group stand beside each other, a column for each value.
struct EpochGroup {
  const Series* first = nullptr;
  std::map<std::string, EpochEnds> by_value{};
};

std::string key_without(const Series& series, const std::string& by) {
  return fmt::format("{} {} {} {}", series.result, series.environment,
                     series.first().problem.descriptor, parameters_but(series, {by}));
}

std::string digits(const std::optional<double>& value) {
  return value ? fmt::format("{:.4f}", *value) : "-";
}

}  // namespace

std::string epoch_table(const Results& results, const TableOptions& options) {
  const SeriesList all = trained(results, options);
  const std::string by = options.by.empty() ? "precision" : options.by;
  const Axes axes = axes_of(all, by);
  Texts values;
  std::vector<EpochGroup> groups;
  std::map<std::string, std::size_t> places;
  for (const Series& series : all) {
    const std::string value = axis_text(series, by);
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    const auto [place, fresh] = places.emplace(key_without(series, by), groups.size());
    if (fresh) groups.push_back({&series});
    groups[place->second].by_value[value] = ends_of(series);
  }
  sort_counts(values);
  SeriesList lines;
  std::vector<std::pair<const EpochGroup*, int>> ends;
  for (const EpochGroup& group : groups) {
    std::set<int> epochs;
    for (const auto& [value, its] : group.by_value)
      for (const auto& [epoch, end] : its) epochs.insert(epoch);
    for (const int epoch : epochs) {
      lines.push_back(*group.first);
      ends.emplace_back(&group, epoch);
    }
  }
  Table table;
  table.lines.resize(lines.size());
  add_axes(table, lines, axes.shown);
  table.add({"epoch", true}, [&](std::size_t i) { return std::to_string(ends[i].second); });
  const Texts scores = qualities_of(all);
  Texts titles{"loss"};
  titles.insert(titles.end(), scores.begin(), scores.end());
  for (const std::string& title : titles)
    for (const std::string& value : values)
      table.add({fmt::format("{} {}", title, value), true}, [&](std::size_t i) {
        const auto& [group, epoch] = ends[i];
        const auto its = group->by_value.find(value);
        if (its == group->by_value.end() || !its->second.contains(epoch)) return std::string("-");
        const EpochEnd& end = its->second.at(epoch);
        return digits(title == "loss" ? end.loss : end.scores.at(title));
      });
  Page page(options.markdown, options.latex);
  add_title(page, results, all, axes.lines());
  Legend legend;
  legend.add(
      fmt::format("loss: of the steps of the epoch; {}: of the validation after it, if there was "
                  "one.",
                  join(scores, ", ")));
  if (std::ranges::any_of(all, [](const Series& series) { return series.rows.size() > 1; }))
    legend.add("Several launches: the median of all, where all have reached the epoch.");
  page.table(table, legend.lines());
  return page.text();
}

std::string epoch_csv(const Results& results, const TableOptions& options) {
  std::vector<nlohmann::json> records;
  for (const Series& series : trained(results, options))
    for (const Row& row : series.rows)
      for (const std::map<std::string, double>& end : row.epochs) {
        nlohmann::json& record = records.emplace_back(end);
        record.update({{"result", results[series.result].name},
                       {"id", row.id},
                       {"precision", row.parameter("precision")},
                       {"launch", row.launch}});
      }
  Texts columns{"result", "id",      "precision",     "launch",
                "epoch",  "seconds", "training_loss", "validation_loss"};
  const Texts scores = qualities_of(trained(results, options));
  columns.insert(columns.end(), scores.begin(), scores.end());
  columns.push_back("images_per_s");
  return csv_of(columns, records);
}

}  // namespace assay
