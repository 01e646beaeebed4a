#include "analysis/table/precision_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/ratio.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/field_table.hpp"
#include "analysis/table/folded.hpp"
#include "analysis/table/table.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace assay {

using nlohmann::json;

namespace {

std::string key_of(const Series& series) {
  return fmt::format("{} {} {}", series.result, series.environment, text_of(series.first(), "id"));
}

/// The rows of the table by their series, which are copied.
using Rows = std::map<std::string, PrecisionRow>;

const PrecisionRow& row_of(const Rows& rows, const Series& series) {
  return rows.at(key_of(series));
}

/// "bf16/bf16/fp32"
std::string executed_cell(const Series& series) {
  const json executed = series.first().value("executed", json());
  std::string text;
  for (const char* field : {"storage", "compute", "accumulate"}) {
    const std::string type = executed.is_object() ? text_of(executed, field) : "";
    text += (text.empty() ? "" : "/") + (type.empty() ? "?" : type);
  }
  return text == "?/?/?" ? "-" : text;
}

std::string ratio_text(const OverFp32& ratio, const std::string& mark) {
  return fmt::format("{:.3g}{}", ratio.value, mark);
}

std::string speedup_cell(const PrecisionRow& row, bool absolutes) {
  if (row.is_reference()) return "1";
  if (!row.speedup) return "-";
  return ratio_cell(ratio_text(*row.speedup, mark_of(*row.series, *row.fp32)), absolutes,
                    quantity_of(*row.fp32), quantity_of(*row.series));
}

std::string interval_text(const std::optional<OverFp32>& ratio, bool tell_range) {
  if (!ratio || !ratio->interval) return "-";
  return fmt::format("{}{:.3g} .. {:.3g}", tell_range && ratio->is_range ? "range " : "",
                     ratio->interval->low, ratio->interval->high);
}

/// The fields of this table, which hold references to the rows: what was executed and gained, then
/// those of other tables, which are not shown unless they are asked for.
class Fields {
 public:
  Fields(const FieldSource& source, const Rows& rows) : rows_(rows), absolutes_(source.absolutes) {
    for (Field& field : fields_of(source)) {
      field.shown = false;
      if (field.measured)
        measured_.push_back(std::move(field));
      else if (field.key != "precision")
        fields_.push_back(std::move(field));
    }
  }

  std::vector<Field> made(bool algorithms) {
    for (Field& field : fields_) field.shown = field.key == "algorithm" && algorithms;
    fields_.push_back(
        {"precision", "precision", false, true, false, 0,
         [this](const Series& series, Legend&) { return row_of(rows_, series).precision; }});
    take("time", "time", 0);
    add_speedup();
    take("error", "max error", 0);
    add("norm_error", "norm error", 3, [](const Series& series, Legend& legend) -> std::string {
      const std::optional<double> error = largest_norm_error(series);
      if (!error) return "-";
      legend.add("norm error: 2-norm of the errors / 2-norm of the fp64 reference.");
      return human_error(*error);
    });
    add("executed", "executed", 5, [](const Series& series, Legend& legend) {
      legend.add("executed: types of storage / products / sums (?: the library does not tell).");
      return executed_cell(series);
    });
    take("ceiling", "of ceiling", 2);
    add_energy();
    for (Field& field : measured_) {
      if (field.key == "interval") field.title += " of time";  // beside that of the speedup
      fields_.push_back(std::move(field));
    }
    return std::move(fields_);
  }

 private:
  template <class Cell>
  void add(const char* key, const std::string& title, int spare, Cell cell) {
    fields_.push_back({key, title, true, true, true, spare, cell});
  }

  void take(const std::string& key, const std::string& title, int spare) {
    const auto found = std::find_if(measured_.begin(), measured_.end(),
                                    [&](const Field& field) { return field.key == key; });
    if (found == measured_.end()) return;
    found->shown = true;
    found->title = title;
    found->spare = spare;
    fields_.push_back(std::move(*found));
    measured_.erase(found);
  }

  bool every_interval_is(bool range) const {
    return std::all_of(rows_.begin(), rows_.end(), [range](const auto& row) {
      return !row.second.speedup || !row.second.speedup->interval ||
             row.second.speedup->is_range == range;
    });
  }

  void add_speedup() {
    add("speedup", "speedup", 0, [this](const Series& series, Legend&) {
      return speedup_cell(row_of(rows_, series), absolutes_);
    });
    // Where all are ranges the head says it, else each range does.
    const bool ranges = every_interval_is(true) && !every_interval_is(false);
    add("speedup_interval", ranges ? "range" : "95 % interval", 0,
        [this, ranges](const Series& series, Legend&) {
          const PrecisionRow& row = row_of(rows_, series);
          return interval_text(row.speedup, !ranges);
        });
  }

  void add_energy() {
    add("energy_saved", "energy saved", 4,
        [this](const Series& series, Legend& legend) -> std::string {
          const PrecisionRow& row = row_of(rows_, series);
          if (row.is_reference() || !row.energy) return "-";
          legend.add(
              "energy saved: joules of fp32 / joules of the row, above 1 the row needs less; the "
              "median of the launches that have both.");
          return ratio_text(*row.energy, mark_of(series, *row.fp32));
        });
  }

  const Rows& rows_;
  bool absolutes_;
  std::vector<Field> fields_, measured_;
};

/// The group's row that tells its algorithm: the first with a number, if there is one.
const Series& telling(const PrecisionGroup& group) {
  const auto ok = std::find_if(group.begin(), group.end(), [](const PrecisionRow& row) {
    return status_of(*row.series) == "ok";
  });
  return ok == group.end() ? *group.front().series : *ok->series;
}

bool one_algorithm(const PrecisionGroup& group) {
  return std::all_of(group.begin(), group.end(), [&](const PrecisionRow& row) {
    return status_of(*row.series) != "ok" || row.series->algorithm() == telling(group).algorithm();
  });
}

/// The parameters in which the groups differ, without those that differ within a group.
std::string heading_of(const std::vector<NamedResult>& results, bool benchmarks, bool environments,
                       const PrecisionGroup& group, const std::vector<std::string>& axes) {
  // What speaks for itself stands without its name.
  static const std::set<std::string> plain{"direction", "backend", "transport", "collective"};
  const Series& any = telling(group);
  std::vector<std::string> parts;
  if (results.size() > 1) parts.push_back(results[any.result].name);
  parts.push_back((benchmarks ? text_of(any.first(), "benchmark") + " " : "") + any.problem());
  for (const std::string& axis : axes)
    if (const std::string text = axis_text(any, axis); !text.empty())
      parts.push_back(plain.contains(axis) ? text : axis + " " + text);
  if (environments)
    parts.push_back("environment " + std::to_string(any.first().at("environment").get<int>()));
  return join(parts, ", ");
}

/// Whether the row has an error against a reference of inputs that were rounded to 16 bits.
bool has_inputs_of_16_bits(const Series& series) {
  const std::string asked = series.parameter("precision");
  return (asked.starts_with("bf16") || asked.starts_with("fp16")) &&
         largest_norm_error(series).has_value();
}

void explain(const std::vector<PrecisionGroup>& groups, Legend& legend) {
  legend.add(
      "speedup: time of fp32 / time of the row, above 1 the row is faster; the median over the "
      "launches that have both, and the interval of it. fp32 is the fastest fp32 row of the same "
      "problem, backend and "
      "settings, by any algorithm.");
  for (const PrecisionGroup& group : groups)
    for (const PrecisionRow& row : group) {
      if (row.precision != row.series->parameter("precision"))
        legend.add(
            "X storage, Y arithmetic: the tensors are X, the products are formed in Y. This is "
            "neither X nor Y.");
      if (has_inputs_of_16_bits(*row.series))
        legend.add(
            "bf16, fp16: the inputs have 16 bits; the error of rounding fp32 data to them is not "
            "included (that of tf32 is).");
      if (row.precision == "int8" && row.series->status == "ok")
        legend.add(
            "int8: its data are integers, its sums exact. The error that rounding to integers "
            "causes in a network is not included.");
      if (row.speedup && row.speedup->pairs == 1)
        legend.add("A speedup of a single launch has no interval: repeat with --launches 6.");
      if (row.speedup && row.speedup->interval && row.speedup->is_range)
        legend.add(fmt::format(
            "Fewer than {} launches have no 95 % interval: the range of their speedups is shown.",
            least_for_interval));
      if (!row.note.empty())
        legend.add(fmt::format("{}{}, {}: {}.", row.speedup ? "" : "No speedup (-): ",
                               row.series->problem(), row.precision, row.note));
    }
}

}  // namespace

std::vector<PrecisionGroup> chosen_groups(const std::vector<Series>& every,
                                          const std::vector<Series>& chosen, bool sorted) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < chosen.size(); ++i) places.emplace(key_of(chosen[i]), i);
  std::vector<PrecisionGroup> groups = precision_groups(every);
  const auto place = [&](const PrecisionRow& row) { return places.at(key_of(*row.series)); };
  for (PrecisionGroup& group : groups) {
    std::erase_if(group,
                  [&](const PrecisionRow& row) { return !places.contains(key_of(*row.series)); });
    if (sorted)
      std::sort(group.begin(), group.end(),
                [&](const auto& a, const auto& b) { return place(a) < place(b); });
  }
  std::erase_if(groups, [](const PrecisionGroup& group) { return group.empty(); });
  const auto first = [&](const PrecisionGroup& group) {
    std::size_t least = chosen.size();
    for (const PrecisionRow& row : group) least = std::min(least, place(row));
    return least;
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const auto& a, const auto& b) { return first(a) < first(b); });
  return groups;
}

void add_precisions(Page& page, const std::vector<NamedResult>& results,
                    const std::vector<Series>& every, const std::vector<Series>& chosen,
                    const TableOptions& options) {
  axes_of(chosen, "precision");  // refuses rows without the parameter
  std::vector<PrecisionGroup> groups = chosen_groups(every, chosen, !options.sort.empty());
  FieldTable table;
  const auto foldable = [](const PrecisionGroup& group) {
    return std::all_of(group.begin(), group.end(),
                       [](const PrecisionRow& row) { return may_fold(*row.series); });
  };
  if (options.columns != all_columns) {
    for (const PrecisionGroup& group : groups)
      if (foldable(group))
        for (const PrecisionRow& row : group) table.folded.push_back(*row.series);
    std::erase_if(groups, foldable);
  }
  const bool algorithms = !std::all_of(groups.begin(), groups.end(), one_algorithm);
  Rows rows;
  for (const PrecisionGroup& group : groups)
    for (const PrecisionRow& row : group) {
      table.rows.push_back(*row.series);
      rows.emplace(key_of(*row.series), row);
    }
  const std::vector<Series>& shown = table.rows.empty() ? chosen : table.rows;
  Axes axes = axes_of(shown, "precision");
  if (algorithms) std::erase(axes.shown, "algorithm");
  const bool benchmarks = several_benchmarks(shown), environments = ids_repeat(shown);
  for (const PrecisionGroup& group : groups)
    for (std::size_t i = 0; i < group.size(); ++i)
      table.headings.push_back(
          i == 0 ? heading_of(results, benchmarks, environments, group, axes.shown) : "");
  const std::vector<std::pair<std::string, const Baseline*>> no_systems;
  Fields fields({results, table.rows, axes, no_systems, options.absolutes}, rows);
  table.fields = fields.made(algorithms);
  table.constants = shared_by(table.rows, axes.constants);
  explain(groups, table.legend);
  add_field_table(page, results, chosen, table, options);
}

}  // namespace assay
