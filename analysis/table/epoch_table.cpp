#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/page.hpp"
#include "analysis/ratio.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/field_table.hpp"
#include "analysis/table/pivot.hpp"
#include "analysis/table/table.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "formulas/quality.hpp"

namespace assay {

namespace {

/// A training's measures at the end of an epoch by name: the medians of its launches.
using EpochEnd = std::map<std::string, double>;
using EpochEnds = std::map<int, EpochEnd>;

EpochEnds collect_ends(const Series& series) {
  std::map<int, std::map<std::string, std::vector<double>>> all;
  for (const Row& row : series.rows)
    for (const Epoch& end : row.epochs) {
      auto& numbers = all[static_cast<int>(end.epoch)];
      for (const auto& [name, value] : end.measures) numbers[name].push_back(value);
    }
  EpochEnds ends;
  for (const auto& [epoch, numbers] : all) {
    EpochEnd& end = ends[epoch];
    // Launches that ended earlier have no value there, and the other launches alone would not give
    // the median of all.
    for (const auto& [name, values] : numbers)
      if (values.size() == series.rows.size()) end[name] = median(values);
  }
  return ends;
}

/// The trainings whose rows are results, filtered and sorted. InputError if there is none.
SeriesList list_trainings(const Results& results, const TableOptions& options) {
  SeriesList all = select_series(results, options);
  std::erase_if(all, [](const Series& series) {
    // A training that missed its target was verified, too: its row has epochs, but no time.
    return (series.status != "ok" && series.status != "target missed") ||
           std::ranges::all_of(series.rows, [](const Row& row) { return row.epochs.empty(); });
  });
  if (all.empty())
    throw InputError(
        "no verified row has epochs (only trainings to an accuracy do: --epochs N of assay-train "
        "and assay-resnet50). Leave --epochs out.");
  return all;
}

/// The qualities that these trainings have validated; accuracy if none has validated any.
Texts list_qualities(const SeriesList& all) {
  std::set<std::string> names;
  for (const Series& series : all)
    for (const Row& row : series.rows)
      for (const Epoch& end : row.epochs) names.insert(find_quality(end.measures));
  names.erase("");
  return names.empty() ? Texts{"accuracy"} : Texts(names.begin(), names.end());
}

/// The trainings of a table. Those of a group are shown beside each other, with a column for each
/// value.
struct EpochGroup {
  const Series* first = nullptr;
  std::map<std::string, EpochEnds> by_value{};
  std::map<std::string, const Series*> series{};  ///< by value
};

/// Samples of a rank in a step. Ways of parallelism divide the same samples into other batches and
/// passes.
double samples_of_rank(const Series& series) {
  const auto number = [&](const char* name) {
    const std::string text = series.parameter(name);
    return text.empty() ? 1.0 : std::stod(text);
  };
  const Texts way = split(series.parameter("parallel"), ':');
  const bool divided = way.size() > 1 && (way[0] == "pipeline" || way[0] == "split");
  return number("batch") * number("accumulate") / (divided ? std::stod(way[1]) : 1.0);
}

std::string key_without(const Series& series, const std::string& by) {
  Texts without{by};
  if (by == "parallel") without.insert(without.end(), {"batch", "accumulate"});
  return fmt::format("{} {} {} {} {}", series.result, series.environment,
                     series.first().problem.descriptor, list_parameters_but(series, without),
                     by == "parallel" ? samples_of_rank(series) : 0);
}

/// All groups, and the values in the order in which they are reported.
struct Epochs {
  std::vector<EpochGroup> groups{};
  Texts values{};
};

Epochs collect_epochs(const SeriesList& all, const std::string& by) {
  Epochs epochs;
  std::map<std::string, std::size_t> places;
  for (const Series& series : all) {
    const std::string value = format_axis(series, by);
    if (std::ranges::find(epochs.values, value) == epochs.values.end())
      epochs.values.push_back(value);
    // A training that differs from another one in nothing else begins a new group, so that none is
    // left out.
    std::string key = key_without(series, by);
    for (auto entry = places.find(key);
         entry != places.end() && epochs.groups[entry->second].by_value.contains(value);
         entry = places.find(key))
      key += " again";
    const auto [place, fresh] = places.emplace(key, epochs.groups.size());
    if (fresh) epochs.groups.push_back({&series});
    epochs.groups[place->second].by_value[value] = collect_ends(series);
    epochs.groups[place->second].series[value] = &series;
  }
  sort_counts(epochs.values);
  // All others are compared with sync.
  if (by == "parallel")
    std::ranges::stable_partition(epochs.values, [](auto& value) { return value == "sync"; });
  return epochs;
}

/// A line of the table: an epoch of a group, for one value or (nullptr) for all values.
struct EpochLine {
  const EpochGroup* group;
  int epoch;
  const std::string* value = nullptr;

  const EpochEnd* end(const std::string& column) const {
    const auto its = group->by_value.find(column);
    if (its == group->by_value.end()) return nullptr;
    const auto entry = its->second.find(epoch);
    return entry == its->second.end() ? nullptr : &entry->second;
  }
  /// A number of the training with a value of the parameter.
  std::optional<double> number(const std::string& column, const std::string& name) const {
    const EpochEnd* const its = end(column);
    return its != nullptr && its->contains(name) ? std::optional(its->at(name)) : std::nullopt;
  }
  std::string score(const std::string& column, const std::string& title) const {
    const auto value = number(column, title == "loss" ? "training_loss" : title);
    return value ? fmt::format("{:.4f}", *value) : "-";
  }
};

std::vector<EpochLine> make_lines(const Epochs& all, bool of_values) {
  std::vector<EpochLine> lines;
  for (const EpochGroup& group : all.groups) {
    std::set<int> epochs;
    for (const auto& [value, its] : group.by_value)
      for (const auto& [epoch, end] : its) epochs.insert(epoch);
    for (const int epoch : epochs) {
      if (!of_values) lines.push_back({&group, epoch});
      for (const std::string& value : all.values)
        if (EpochLine line{&group, epoch, &value}; of_values && line.end(value) != nullptr)
          lines.push_back(line);
    }
  }
  return lines;
}

/// Adds the values beside each other.
void add_beside(const std::vector<EpochLine>& lines, const Texts& values, const Texts& titles,
                Table& table) {
  int spare = 0;
  for (const std::string& title : titles)
    for (const std::string& value : values)
      table.add({fmt::format("{} {}", title, value), true, "", spare++},
                [&](std::size_t i) { return lines[i].score(value, title); });
}

/// Adds the values one below the other, with their speed relative to `first`.
void add_below(const std::vector<EpochLine>& lines, const std::string& by, const std::string& first,
               const Texts& titles, Table& table) {
  table.add({by}, [&](std::size_t i) { return *lines[i].value; });
  const auto rate = [&](std::size_t i, const std::string& value) {
    return lines[i].number(value, "images_per_s");
  };
  table.add({"images/s", true, "", 1}, [&](std::size_t i) {
    const auto own = rate(i, *lines[i].value);
    return own ? Cell(fmt::format("{:.{}f}", *own, *own < 100 ? 1 : 0), *own) : Cell("-");
  });
  table.add({"over " + first, true}, [&](std::size_t i) {
    const auto own = rate(i, *lines[i].value), base = rate(i, first);
    return own && base && *base > 0 ? Cell(fmt::format("{:.2f}", *own / *base), *own / *base)
                                    : Cell("-");
  });
  for (const std::string& title : titles)
    table.add({title, true}, [&](std::size_t i) { return lines[i].score(*lines[i].value, title); });
}

}  // namespace

std::string render_epoch_table(const Results& results, const TableOptions& options) {
  const SeriesList all = list_trainings(results, options);
  const std::string by = options.by.empty() ? "precision" : options.by;
  Axes axes = find_axes(all, by);
  const bool below = by == "parallel";  // its values differ in speed, and are many
  const Epochs epochs = collect_epochs(all, by);
  const std::vector<EpochLine> ends = make_lines(epochs, below);
  SeriesList lines;
  for (const EpochLine& end : ends)
    lines.push_back(end.value == nullptr ? *end.group->first : *end.group->series.at(*end.value));
  Table table;
  table.lines.resize(lines.size());
  if (std::ranges::any_of(all,
                          [&](auto& series) { return series.problem() != all.front().problem(); }))
    table.add({"problem"}, [&](std::size_t i) { return lines[i].problem(); });
  add_axes(table, lines, axes.shown);
  table.add({"epoch", true}, [&](std::size_t i) { return std::to_string(ends[i].epoch); });
  const Texts scores = list_qualities(all);
  Texts titles{"loss"};
  titles.insert(titles.end(), scores.begin(), scores.end());
  if (below)
    add_below(ends, by, epochs.values.front(), titles, table);
  else
    add_beside(ends, epochs.values, titles, table);
  Page page(options.markdown, options.latex);
  add_title(page, results, all, axes.lines());
  Legend legend;
  legend.add(
      fmt::format("loss: of the steps of the epoch; {}: of the validation after it, if there was "
                  "one.",
                  join(scores, ", ")));
  if (below)
    legend.add(format_speedup_header("x", epochs.values.front()) +
               ", of as many samples of a rank in a step.");
  if (std::ranges::any_of(all, [](const Series& series) { return series.rows.size() > 1; }))
    legend.add("Several launches: the median of all, where all have reached the epoch.");
  page.table(table, legend.lines());
  return page.text();
}

RecordList make_epoch_records(const Results& results, const TableOptions& options) {
  std::vector<nlohmann::json> records;
  for (const Series& series : list_trainings(results, options))
    for (const Row& row : series.rows)
      for (const Epoch& end : row.epochs) {
        nlohmann::json& record = records.emplace_back(end.measures);
        record.update({{"result", results[series.result].name},
                       {"id", row.id},
                       {"precision", row.parameter("precision")},
                       {"launch", row.launch},
                       {"epoch", static_cast<double>(end.epoch)},
                       {"seconds", end.seconds}});
      }
  Texts columns{"result", "id",      "precision",     "launch",
                "epoch",  "seconds", "training_loss", "validation_loss"};
  const Texts scores = list_qualities(list_trainings(results, options));
  columns.insert(columns.end(), scores.begin(), scores.end());
  columns.push_back("images_per_s");
  return {columns, records};
}

}  // namespace assay
