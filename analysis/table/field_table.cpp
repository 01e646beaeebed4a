#include "analysis/table/field_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "analysis/table/table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

/// A field with its cells, one for each series; "" where the series has no number.
struct Filled {
  Field field;
  std::vector<Cell> cells{};
  Legend legend{};

  /// Columns of characters on a terminal, with the space behind them.
  std::size_t width() const {
    std::size_t width = shown_width(field.title);
    for (const Cell& cell : cells) width = std::max(width, shown_width(cell.text));
    return width + 2;
  }
  /// Whether a reader would miss nothing.
  bool empty() const {
    return std::ranges::all_of(cells, [](const Cell& cell) {
      return cell.text.empty() || cell.text == "-" || cell.text == "published";
    });
  }
  /// Sizes and counts are set right, as numbers are.
  bool right() const {
    const auto counts = [](const Cell& cell) {
      return cell.text.find_first_not_of("0123456789") == std::string::npos;
    };
    const auto empty = [](const Cell& cell) { return cell.text.empty(); };
    return field.right ||
           (std::ranges::all_of(cells, counts) && !std::ranges::all_of(cells, empty));
  }
};
using Columns = std::vector<Filled>;

bool is_measured(const Filled& column) { return column.field.measured; }

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
      throw InputError(unknown_name("column", column, known) + " See `assay table --help`.");
    std::ranges::copy_if(fields, std::back_inserter(kept),
                         [&](const Field& field) { return field.key == column; });
  }
  return kept;
}

/// Whether the columns, without those of at least this `spare`, have room on a terminal.
bool have_room(const Columns& columns, int spare) {
  std::size_t width = 0;
  for (const Filled& column : columns)
    if (column.field.spare < spare) width += column.width();
  return width <= table_width + 2;
}
constexpr int no_spare = std::numeric_limits<int>::max();

/// Leaves out spare columns until the table fits; the line that tells which, or "". `name`: "conv"
/// of one table among several, else "".
std::string fit(Columns& columns, const std::string& name, const char* to_see_all) {
  Texts left_out;
  while (!have_room(columns, no_spare)) {
    const auto first = std::ranges::max_element(
        columns, {}, [](const Filled& column) { return column.field.spare; });
    if (first->field.spare == 0) break;
    left_out.push_back(first->field.key);
    columns.erase(first);
  }
  if (left_out.empty()) return "";
  return fmt::format(
      "Not shown{}, to {}: {} ({}).", name.empty() ? "" : " of " + name,
      have_room(columns, no_spare) ? fmt::format("fit {} characters", table_width) : "be less wide",
      join(left_out, ", "), to_see_all);
}

/// Makes headings of the column of the problems, if several rows have the same one below each
/// other; else there are none.
Texts take_problems(Columns& columns) {
  const auto column = std::ranges::find_if(
      columns, [](const Filled& filled) { return filled.field.key == "problem"; });
  if (column == columns.end()) return {};
  Texts texts;
  for (const Cell& cell : column->cells) texts.push_back(cell.text);
  Texts headings = headings_of(texts);
  if (!headings.empty()) columns.erase(column);
  return headings;
}

/// The lines of the table. A series without a number has its status and reason in their place;
/// where these do not fit, the reason is a footnote.
std::vector<Line> make_lines(const Columns& columns, const SeriesList& rows, bool any_width,
                             Legend& legend) {
  const auto first_measured = std::ranges::find_if(columns, is_measured);
  const bool measured_last = std::all_of(first_measured, columns.end(), is_measured);
  std::size_t before = 0;
  for (auto column = columns.begin(); column != first_measured; ++column) before += column->width();
  std::vector<Line> lines(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Line& line = lines[i];
    const bool ok = has_number(rows[i]);
    const std::string why = rows[i].status + ": " + rows[i].reason;
    for (auto column = columns.begin(); column != columns.end(); ++column) {
      if (ok || !column->field.measured) {
        line.add(column->cells[i]);
      } else if (column != first_measured) {
        line.add("-");
      } else if (measured_last && (any_width || before + shown_width(why) <= table_width)) {
        line.note = why;
        break;
      } else {
        line.add(rows[i].status + " " + legend.footnote(why));
      }
    }
  }
  return lines;
}

/// `intervals`: whether the intervals of the times are shown.
void explain_launches(const SeriesList& rows, bool intervals, Legend& legend) {
  const auto several = [&](bool published) {
    return std::ranges::any_of(rows, [&](const Series& series) {
      return series.rows.size() > 1 && series.published == published;
    });
  };
  if (several(true))
    legend.add("Of several published numbers of one case the best is shown, with its citation.");
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
    legend.cite(system_of(results, series), series.first().citation);
    explain_projection(system_of(results, series), series.first(), legend);
  }
  for (const Series& series : rows)
    if (const Row& row = series.first(); !row.note.empty())
      legend.add(fmt::format("{} {}: {}", row.benchmark, series.problem(), row.note));
}

/// The columns with their cells, without those that are empty; why these are goes into `legend`.
Columns fill(const std::vector<Field>& fields, const SeriesList& rows, const TableOptions& options,
             Legend& legend) {
  const bool everything = options.columns == all_columns;
  Columns columns;
  for (const Field& field : choose_fields(fields, options.columns)) {
    Filled& column = columns.emplace_back(Filled{field});
    for (const Series& series : rows)
      column.cells.push_back(
          field.measured && !has_number(series) ? Cell("") : field.cell(series, column.legend));
  }
  // A time that is missing, and why, is always told; a published number has none.
  const bool measured = std::ranges::any_of(
      rows, [](const Series& series) { return !series.published || !has_number(series); });
  if ((options.columns.empty() || everything) && !rows.empty())
    std::erase_if(columns, [&](const Filled& column) {
      const std::string& key = column.field.key;
      const bool goes = (column.field.measured || everything) && column.empty() &&
                        !(measured && (key == "time" || key == "interval"));
      if (goes && column.field.told) legend.merge(column.legend);
      return goes;
    });
  // The status of a series without a number takes room in the first column of numbers.
  if (const auto first = std::ranges::find_if(columns, is_measured); first != columns.end())
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!has_number(rows[i])) first->cells[i] = rows[i].status + " [1]";
  return columns;
}

/// Properties that all rows share: "launches 3", "problems of deepbench-train".
Texts shared_properties(const SeriesList& rows) {
  Texts texts;
  if (rows.empty()) return texts;
  const std::size_t launches = rows.front().rows.size();
  if (launches > 1 &&
      std::ranges::all_of(rows, [&](auto& series) { return series.rows.size() == launches; }))
    texts.push_back(fmt::format("launches {}", launches));
  if (const std::string list = common_list(rows); !list.empty())
    texts.push_back("problems of " + list);
  return texts;
}

void append(Texts& texts, const Texts& more) {
  texts.insert(texts.end(), more.begin(), more.end());
}

/// Adds a table of `rows` without its title; its explanations go into `legend`. `name`: "conv" of
/// one table among several, else "".
void add_body(Page& page, const Results& results, const SeriesList& all, const FieldTable& table,
              const SeriesList& rows, const std::vector<Field>& fields, const std::string& name,
              const TableOptions& options, Legend& legend) {
  Legend of_empty;
  Columns columns = fill(fields, rows, options, of_empty);
  Texts headings = name.empty() ? table.headings : Texts();
  std::string left_out;
  if (options.columns.empty() && !options.any_width()) {
    if (table.problems_may_head && !have_room(columns, spared_first))
      headings = take_problems(columns);
    left_out = fit(columns, name, table.to_see_all);
  }
  const auto shows = [&](const char* key) {
    return std::ranges::any_of(columns, [key](auto& column) { return column.field.key == key; });
  };
  if (std::ranges::any_of(columns, is_measured))
    for (const Series& series : rows) legend.add(note_of(mark_of(series)));
  for (const Filled& column : columns) legend.merge(column.legend);
  legend.merge(of_empty);
  const bool any_width = options.any_width() || options.columns == all_columns;
  Table shown{{}, make_lines(columns, rows, any_width, legend)};
  if (!headings.empty()) shown.lines = headed(std::move(shown.lines), headings);
  if (name.empty() && !table.folded.empty())
    shown.lines.push_back({{}, folded_line(table.folded, all, legend)});
  explain_rows(results, rows, legend);
  explain_launches(rows, shows("interval"), legend);
  if (shows("ceiling")) note_ceilings(results, rows, legend);
  legend.add(left_out);
  for (const Filled& column : columns)
    shown.columns.push_back({column.field.title, column.right()});
  page.table(shown);
}

}  // namespace

void add_field_table(Page& page, const Results& results, const SeriesList& all,
                     const FieldTable& table, const TableOptions& options) {
  const SeriesList& rows = table.rows;
  Legend legend = table.legend;
  Axes axes = axes_of(rows.empty() ? all : rows, table.by);
  const std::vector<Field> fields = table.fields(rows, axes);
  if (!rows.empty()) append(axes.shared, table.constants);
  const auto too_wide = [&] {
    Legend unused;
    return !have_room(fill(fields, rows, options, unused),
                      options.any_width() ? no_spare : spared_first);
  };
  // Separate tables would each be sorted by itself.
  if (!table.may_split || !options.columns.empty() || !options.sort.empty() ||
      !several_benchmarks(rows) || !too_wide()) {
    append(axes.shared, shared_properties(rows));
    add_title(page, results, all, options.columns == all_columns ? Texts() : axes.lines());
    add_body(page, results, all, table, rows, fields, "", options, legend);
    page.blank();
    return page.notes(legend.lines());
  }
  add_title(page, results, all, Axes{{}, axes.shared}.lines());
  for (const SeriesList& part : by_benchmark(rows)) {
    Axes own = axes_of(part, table.by, axes.same);
    append(own.shared, shared_properties(part));
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
    page.line(folded_line(folded, all, legend));
    page.gap();
    page.blank();
  }
  page.notes(legend.lines());
}

Texts headings_of(const Texts& texts) {
  Texts headings;
  std::size_t count = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool fresh = i == 0 || texts[i] != texts[i - 1];
    headings.push_back(fresh ? texts[i] : "");
    count += fresh ? 1 : 0;
  }
  if (2 * count > headings.size()) headings.clear();
  return headings;
}

std::vector<Line> headed(std::vector<Line> lines, const Texts& headings) {
  std::vector<Line> all;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!headings[i].empty()) all.push_back({{}, headings[i]});
    all.push_back(std::move(lines[i]));
  }
  return all;
}

}  // namespace assay
