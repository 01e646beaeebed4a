#include "analysis/table/field_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "analysis/table/table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

std::vector<Field> choose_fields(const std::vector<Field>& fields, const Texts& columns) {
  std::vector<Field> kept;
  if (columns.empty() || columns.front() == "all") {
    for (const Field& field : fields)
      if (field.shown || (!columns.empty() && field.key != "id" && field.key != "repeat"))
        kept.push_back(field);
    return kept;
  }
  Texts known;
  for (const Field& field : fields)
    if (std::ranges::find(known, field.key) == known.end()) known.push_back(field.key);
  for (const std::string& column : columns) {
    if (std::ranges::find(known, column) == known.end())
      throw InputError(explain_unknown_name("column", column, known) +
                       " See `assay table --help`.");
    std::ranges::copy_if(fields, std::back_inserter(kept),
                         [&](const Field& field) { return field.key == column; });
  }
  return kept;
}

/// True if a column contains only counts or sizes; it is then aligned right, like numbers.
bool has_counts(const Table& table, std::size_t column) {
  bool any = false;
  for (const Line& line : table.lines) {
    if (line.cells[column].find_first_not_of("0123456789") != std::string::npos) return false;
    any = any || !line.cells[column].empty();
  }
  return any;
}

/// True if the last column tells a reader nothing new.
bool is_last_empty(const Table& table) {
  return std::ranges::all_of(table.lines, [](const Line& line) {
    const std::string& text = line.cells.back();
    return text.empty() || text == "-" || text == "published";
  });
}

/// A series without a number shows its status and reason in place of its numbers. If these do not
/// fit, the reason becomes a footnote.
void put_reasons(const SeriesList& rows, bool any_width, Table& table, Legend& legend) {
  const auto first = std::ranges::find_if(table.columns, &Column::measured);
  if (first == table.columns.end()) return;
  const bool measured_last =
      std::all_of(first, table.columns.end(), std::mem_fn(&Column::measured));
  const auto place = static_cast<std::size_t>(first - table.columns.begin());
  const std::vector<std::size_t> widths = table.widths();
  std::size_t before = 0;
  for (std::size_t i = 0; i < place; ++i) before += widths[i] + 2;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (has_number(rows[i])) continue;
    Line& line = table.lines[i];
    const std::string why = rows[i].status + ": " + rows[i].reason;
    if (measured_last && (any_width || before + count_columns(why) <= table_width)) {
      line.cells.resize(place);
      line.note = why;
      continue;
    }
    for (std::size_t column = place; column < table.columns.size(); ++column)
      if (table.columns[column].measured) line.cells[column] = "-";
    line.cells[place] = rows[i].status + " " + legend.footnote(why);
  }
}

/// `intervals`: whether the intervals of the times are shown.
void explain_launches(const SeriesList& rows, bool intervals, Legend& legend) {
  const auto several = [&](bool published) {
    return std::ranges::any_of(rows, [&](const Series& series) {
      return series.rows.size() > 1 && series.published == published;
    });
  };
  if (several(true))
    legend.add("Several published numbers of a case: the best one is shown, with its citation.");
  if (several(false) && !intervals)
    legend.add("Several launches: time is the median of the launch medians.");
  else if (several(false))
    legend.add(
        "Several launches: median of the launch medians, and its interval" +
        (std::ranges::any_of(rows, &Series::is_range)
             ? fmt::format("; fewer than {} launches have no 95 % interval: their range is shown.",
                           least_for_interval)
             : "."));
  if (ids_repeat(rows)) legend.add(environments_note);
}

/// The sources of published rows, and the suite's notes on rows.
void explain_rows(const Results& results, const SeriesList& rows, Legend& legend) {
  for (const Series& series : rows) {
    if (!series.published || !has_number(series)) continue;
    legend.cite(name_system(results, series), series.first().citation);
    explain_projection(name_system(results, series), series.first(), legend);
  }
  for (const Series& series : rows)
    if (const Row& row = series.first(); !row.note.empty())
      legend.add(fmt::format("{} {}: {}", row.benchmark, series.problem(), row.note));
}

/// The chosen columns with a line for each series, without empty columns; the reasons for these go
/// into `legend`. Cells of a series without a number are "".
Table fill(const std::vector<Field>& fields, const SeriesList& rows, const TableOptions& options,
           Legend& legend) {
  const bool everything = options.columns == all_columns;
  // A missing time is always explained; a published number has none.
  const bool measured = std::ranges::any_of(
      rows, [](const Series& series) { return !series.published || !has_number(series); });
  Table table{{}, std::vector<Line>(rows.size())};
  for (const Field& field : choose_fields(fields, options.columns)) {
    Legend own;
    table.add(field, [&](std::size_t i) -> Cell {
      return field.measured && !has_number(rows[i]) ? "" : field.cell(rows[i], own);
    });
    if (!options.columns.empty()) table.columns.back().spare = 0;  // the reader wants it
    if ((options.columns.empty() || everything) && !rows.empty() &&
        (field.measured || everything) && is_last_empty(table) &&
        !(measured && (field.key == "time" || field.key == "interval"))) {
      table.take(table.columns.size() - 1);
      if (field.explains_missing) legend.merge(own);
    } else {
      table.columns.back().legend = std::move(own);
    }
  }
  // The status of a series without a number is in the first column of numbers, and takes space
  // there.
  const auto first = std::ranges::find_if(table.columns, &Column::measured);
  if (first != table.columns.end())
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!has_number(rows[i]))
        table.lines[i].cells[static_cast<std::size_t>(first - table.columns.begin())] =
            rows[i].status + " [1]";
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    table.columns[i].right = table.columns[i].right || has_counts(table, i);
  return table;
}

/// Properties that all rows share: "launches 3", "problems of deepbench-train".
Texts find_shared_properties(const SeriesList& rows) {
  Texts texts;
  if (rows.empty()) return texts;
  const std::size_t launches = rows.front().rows.size();
  if (launches > 1 &&
      std::ranges::all_of(rows, [&](auto& series) { return series.rows.size() == launches; }))
    texts.push_back(fmt::format("launches {}", launches));
  if (const std::string list = format_common_list(rows); !list.empty())
    texts.push_back("problems of " + list);
  return texts;
}

void append(Texts& texts, const Texts& more) {
  texts.insert(texts.end(), more.begin(), more.end());
}

/// Adds a table of `rows` without its title; its explanations go into `legend`. `name`: "conv" for
/// one table among several, else "".
void add_body(Page& page, const Results& results, const SeriesList& all, const FieldTable& table,
              const SeriesList& rows, const std::vector<Field>& fields, const std::string& name,
              const TableOptions& options, Legend& legend) {
  Legend of_empty;
  Table shown = fill(fields, rows, options, of_empty);
  Texts headings = name.empty() ? table.headings : Texts();
  std::string left_out;
  if (options.columns.empty() && !options.any_width()) {
    if (table.problems_may_head && !shown.fits(spared_first))
      headings = shown.take_headings(shown.find("problem"));
    left_out = shown.leave_out(table.to_see_all, name);
  }
  const auto shows = [&](const char* key) { return shown.find(key) < shown.columns.size(); };
  if (std::ranges::any_of(shown.columns, &Column::measured))
    for (const Series& series : rows) legend.add(explain_mark(choose_mark(series)));
  for (const Column& column : shown.columns) legend.merge(column.legend);
  legend.merge(of_empty);
  put_reasons(rows, options.any_width() || options.columns == all_columns, shown, legend);
  shown.add_headings(headings);
  if (name.empty() && !table.folded.empty())
    shown.lines.push_back({{}, fold_lines(table.folded, all, legend)});
  explain_rows(results, rows, legend);
  explain_launches(rows, shows("interval"), legend);
  if (shows("ceiling")) note_ceilings(results, rows, legend);
  legend.add(left_out);
  page.table(shown);
}

}  // namespace

void add_field_table(Page& page, const Results& results, const SeriesList& all,
                     const FieldTable& table, const TableOptions& options) {
  const SeriesList& rows = table.rows;
  Legend legend = table.legend;
  Axes axes = find_axes(rows.empty() ? all : rows, table.by);
  const std::vector<Field> fields = table.fields(rows, axes);
  if (!rows.empty()) append(axes.shared, table.constants);
  const auto too_wide = [&] {
    Legend unused;
    const Table whole = fill(fields, rows, options, unused);
    return !(options.any_width() ? whole.fits() : whole.fits(spared_first));
  };
  // Separate tables would be sorted separately.
  if (!table.may_split || !options.columns.empty() || !options.sort.empty() ||
      !several_benchmarks(rows) || !too_wide()) {
    append(axes.shared, find_shared_properties(rows));
    add_title(page, results, all, options.columns == all_columns ? Texts() : axes.lines());
    add_body(page, results, all, table, rows, fields, "", options, legend);
    page.blank();
    return page.notes(legend.lines());
  }
  add_title(page, results, all, Axes{{}, axes.shared}.lines());
  for (const SeriesList& part : by_benchmark(rows)) {
    Axes own = find_axes(part, table.by, axes.same);
    append(own.shared, find_shared_properties(part));
    add_part_title(page, part, own.shared);
    add_body(page, results, all, table, part, table.fields(part, own),
             part.front().first().benchmark, options, legend);
    page.blank();
  }
  add_end(page, table.folded, all, legend);
}

std::vector<SeriesList> by_benchmark(const SeriesList& rows) {
  std::vector<SeriesList> groups;
  for (const Series& series : rows) {
    const auto group = std::ranges::find_if(groups, [&](const SeriesList& other) {
      return other.front().first().benchmark == series.first().benchmark;
    });
    (group == groups.end() ? groups.emplace_back() : *group).push_back(series);
  }
  return groups;
}

void add_part_title(Page& page, const SeriesList& rows, const Texts& properties) {
  const std::string& name = rows.front().first().benchmark;
  page.line(properties.empty() ? name : name + ": " + join(properties, ", "));
  page.gap();
}

void add_end(Page& page, const SeriesList& folded, const SeriesList& all, Legend& legend) {
  if (!folded.empty()) {
    page.line(fold_lines(folded, all, legend));
    page.gap();
    page.blank();
  }
  page.notes(legend.lines());
}

}  // namespace assay
