#include "analysis/table/precision_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/table/field_table.hpp"
#include "analysis/table/table.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace assay {

namespace {

/// The rows of the table, by make_key() of their series, which are copies.
using Rows = std::map<std::string, PrecisionRow>;

/// "bf16/bf16/fp32"
Cell format_execution_cell(const Series& series) {
  const auto& execution = series.first().execution;
  if (!execution) return "-";
  Texts types{execution->storage, execution->compute, execution->accumulate};
  for (std::string& type : types)
    if (type.empty()) type = "?";
  const std::string text = join(types, "/");
  return text == "?/?/?" ? "-" : text;
}

Cell make_ratio_cell(const PrecisionRow& row, const RatioToFp32& ratio) {
  return {fmt::format("{:.3g}{}", ratio.value, choose_mark(*row.series, *row.fp32)), ratio.value};
}

Cell format_speedup_cell(const PrecisionRow& row, bool absolutes) {
  if (row.is_reference()) return {"1", 1};
  if (!row.speedup) return "-";
  const Cell ratio = make_ratio_cell(row, *row.speedup);
  return {format_ratio_cell(ratio.text, absolutes, make_quantity(*row.fp32),
                            make_quantity(*row.series)),
          ratio.number};
}

/// True if all intervals of speedups are ranges, or none of them.
bool every_interval_is(const Rows& rows, bool range) {
  return std::ranges::all_of(rows, [range](const auto& entry) {
    const std::optional<RatioToFp32>& speedup = entry.second.speedup;
    return !speedup || !speedup->interval || speedup->is_range == range;
  });
}

/// The fields of this table, which hold references to the rows: first what was executed and gained,
/// then those of other tables, which are shown only on request.
std::vector<Field> make_fields(const FieldSource& source, const Rows& rows, bool algorithms) {
  std::vector<Field> fields, others;
  for (Field& field : list_fields(source)) {
    field.shown = !field.measured && field.key == "algorithm" && algorithms;
    if (field.measured)
      others.push_back(std::move(field));
    else if (field.key != "precision")
      fields.push_back(std::move(field));
  }
  const auto take = [&](const std::string& key, const std::string& title, int spare) {
    const auto field = std::ranges::find(others, key, &Field::key);
    if (field == others.end()) return;
    field->shown = true;
    field->title = title;
    field->spare = spare;
    fields.push_back(std::move(*field));
    others.erase(field);
  };
  const auto add = [&](const char* key, const std::string& title, int spare, auto cell) {
    fields.push_back({{title, true, key, spare, true},
                      true,
                      [&rows, cell](const Series& series, Legend& legend) -> Cell {
                        return cell(rows.at(make_key(series)), legend);
                      }});
  };
  add("precision", "precision", 0, [](const PrecisionRow& row, Legend&) { return row.precision; });
  fields.back().right = fields.back().measured = false;
  take("time", "time", 0);
  add("speedup", "speedup", 0, [absolutes = source.absolutes](const PrecisionRow& row, Legend&) {
    return format_speedup_cell(row, absolutes);
  });
  // If all intervals are ranges, the head says so, otherwise each range does.
  const bool ranges = every_interval_is(rows, true) && !every_interval_is(rows, false);
  add("speedup_interval", ranges ? "range" : "95 % interval", 0,
      [ranges](const PrecisionRow& row, Legend&) -> Cell {
        if (!row.speedup || !row.speedup->interval) return "-";
        return fmt::format("{}{:.3g} .. {:.3g}", !ranges && row.speedup->is_range ? "range " : "",
                           row.speedup->interval->low, row.speedup->interval->high);
      });
  take("error", "max error", 0);
  add("norm_error", "norm error", 3, [](const PrecisionRow& row, Legend& legend) -> Cell {
    const std::optional<double> error = largest_norm_error(*row.series);
    if (!error) return "-";
    legend.add("norm error: 2-norm of the errors / 2-norm of the fp64 reference.");
    return {format_error(*error), error};
  });
  add("executed", "executed", 5, [](const PrecisionRow& row, Legend& legend) {
    legend.add("executed: types of storage / products / sums (?: the library does not tell).");
    return format_execution_cell(*row.series);
  });
  take("ceiling", "of ceiling", 2);
  add("energy_saved", "energy saved", 4, [](const PrecisionRow& row, Legend& legend) -> Cell {
    if (row.is_reference() || !row.energy) return "-";
    legend.add(
        "energy saved: joules of fp32 / joules of the row, above 1 the row needs less; the "
        "median of the launches that have both.");
    return make_ratio_cell(row, *row.energy);
  });
  for (Field& field : others) {
    if (field.key == "interval") field.title += " of time";  // beside that of the speedup
    fields.push_back(std::move(field));
  }
  return fields;
}

/// The row of the group that shows its algorithm: the first one with a number, if there is one.
const Series& telling(const PrecisionGroup& group) {
  const auto ok =
      std::ranges::find_if(group, [](const PrecisionRow& row) { return has_number(*row.series); });
  return ok == group.end() ? *group.front().series : *ok->series;
}

bool has_one_algorithm(const PrecisionGroup& group) {
  return std::ranges::all_of(group, [&](const PrecisionRow& row) {
    return !has_number(*row.series) || row.series->algorithm() == telling(group).algorithm();
  });
}

/// The parameters in which the groups differ, without those that differ within a group.
std::string make_heading(const Results& results, bool benchmarks, bool environments,
                         const PrecisionGroup& group, const Texts& axes) {
  // These values explain themselves, and are shown without their names.
  static const std::set<std::string> plain{"direction", "backend", "transport", "collective"};
  const Series& any = telling(group);
  Texts parts;
  if (results.size() > 1) parts.push_back(results[any.result].name);
  parts.push_back((benchmarks ? any.first().benchmark + " " : "") + any.problem());
  for (const std::string& axis : axes)
    if (const std::string text = format_axis(any, axis); !text.empty())
      parts.push_back(plain.contains(axis) ? text : axis + " " + text);
  if (environments) parts.push_back("environment " + std::to_string(any.first().environment));
  return join(parts, ", ");
}

/// True if the error of the row is relative to a reference of inputs that were rounded to 16 bits.
bool has_inputs_of_16_bits(const Series& series) {
  const std::string precision_name = series.parameter("precision");
  return (precision_name.starts_with("bf16") || precision_name.starts_with("fp16")) &&
         largest_norm_error(series).has_value();
}

void explain(const std::vector<PrecisionGroup>& groups, Legend& legend) {
  legend.add(
      "speedup: time of fp32 / time of the row, above 1 the row is faster; the median over the "
      "launches that have both, and the interval of it. fp32 is the fastest fp32 row of the same "
      "problem, backend and settings, by any algorithm.");
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

std::vector<PrecisionGroup> choose_groups(const SeriesList& every, const SeriesList& chosen,
                                          bool sorted) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < chosen.size(); ++i) places.emplace(make_key(chosen[i]), i);
  std::vector<PrecisionGroup> groups = group_by_precision(every);
  const auto place = [&](const PrecisionRow& row) { return places.at(make_key(*row.series)); };
  for (PrecisionGroup& group : groups) {
    std::erase_if(group,
                  [&](const PrecisionRow& row) { return !places.contains(make_key(*row.series)); });
    if (sorted) std::ranges::sort(group, {}, place);
  }
  std::erase_if(groups, [](const PrecisionGroup& group) { return group.empty(); });
  std::ranges::stable_sort(groups, {}, [&](const PrecisionGroup& group) {
    return place(*std::ranges::min_element(group, {}, place));
  });
  return groups;
}

void add_precisions(Page& page, const Results& results, const SeriesList& every,
                    const SeriesList& chosen, const TableOptions& options) {
  find_axes(chosen, "precision");  // refuses rows without the parameter
  std::vector<PrecisionGroup> groups = choose_groups(every, chosen, !options.sort.empty());
  FieldTable table;
  const auto foldable = [](const PrecisionGroup& group) {
    return std::ranges::all_of(group,
                               [](const PrecisionRow& row) { return may_fold(*row.series); });
  };
  if (options.columns != all_columns) {
    for (const PrecisionGroup& group : groups)
      if (foldable(group))
        for (const PrecisionRow& row : group) table.folded.push_back(*row.series);
    std::erase_if(groups, foldable);
  }
  const bool algorithms = !std::ranges::all_of(groups, has_one_algorithm);
  Rows rows;
  for (const PrecisionGroup& group : groups)
    for (const PrecisionRow& row : group) {
      table.rows.push_back(*row.series);
      rows.emplace(make_key(*row.series), row);
    }
  const SeriesList& shown = table.rows.empty() ? chosen : table.rows;
  Texts axes = find_axes(shown, "precision").shown;
  if (algorithms) std::erase(axes, "algorithm");
  const bool benchmarks = several_benchmarks(shown), environments = ids_repeat(shown);
  for (const PrecisionGroup& group : groups) {
    table.headings.push_back(make_heading(results, benchmarks, environments, group, axes));
    table.headings.resize(table.headings.size() + group.size() - 1);
  }
  table.fields = [&](const SeriesList& series, const Axes& differing) {
    return make_fields({results, series, differing, {}, options.absolutes}, rows, algorithms);
  };
  table.by = "precision";
  table.may_split = false;
  explain(groups, table.legend);
  add_field_table(page, results, chosen, table, options);
}

}  // namespace assay
