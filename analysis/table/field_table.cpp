#include "analysis/table/field_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "analysis/table/cells.hpp"
#include "analysis/table/folded.hpp"
#include "analysis/table/rate_cells.hpp"
#include "analysis/table/table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

/// A field with its cells, one for each series; "" where the series has no number.
struct Filled {
  Field field;
  std::vector<std::string> cells;
  Legend legend;
};

std::vector<Field> chosen(const std::vector<Field>& fields,
                          const std::vector<std::string>& columns) {
  std::vector<Field> kept;
  if (columns.empty() || columns.front() == "all") {
    for (const Field& field : fields)
      if (field.shown || (!columns.empty() && field.key != "id")) kept.push_back(field);
    return kept;
  }
  std::vector<std::string> known;
  for (const Field& field : fields)
    if (std::find(known.begin(), known.end(), field.key) == known.end()) known.push_back(field.key);
  for (const std::string& column : columns) {
    if (std::find(known.begin(), known.end(), column) == known.end())
      throw InputError(unknown_name("column", column, known) + " See `assay table --help`.");
    std::copy_if(fields.begin(), fields.end(), std::back_inserter(kept),
                 [&](const Field& field) { return field.key == column; });
  }
  return kept;
}

std::vector<Filled> filled(const std::vector<Field>& fields, const std::vector<Series>& rows) {
  std::vector<Filled> columns;
  for (const Field& field : fields) {
    Filled& column = columns.emplace_back(Filled{field, {}, {}});
    for (const Series& series : rows)
      column.cells.push_back(
          field.measured && status_of(series) != "ok" ? "" : field.cell(series, column.legend));
  }
  return columns;
}

/// Nothing that a reader would miss.
bool empty(const Filled& column) {
  return std::all_of(column.cells.begin(), column.cells.end(), [](const std::string& cell) {
    return cell.empty() || cell == "-" || cell == "published";
  });
}

std::size_t width_of(const Filled& column) {
  std::size_t width = shown_width(column.field.title);
  for (const std::string& cell : column.cells) width = std::max(width, shown_width(cell));
  return width + 2;
}

/// Sizes and counts are set right, as numbers are.
bool counts_alone(const Filled& column) {
  bool any = false;
  for (const std::string& cell : column.cells) {
    if (cell.find_first_not_of("0123456789") != std::string::npos) return false;
    any = any || !cell.empty();
  }
  return any;
}

/// Whether the columns, without those of at least this `spare`, have room on a terminal.
bool have_room(const std::vector<Filled>& columns, int spare) {
  std::size_t width = 0;
  for (const Filled& column : columns)
    if (column.field.spare < spare) width += width_of(column);
  return width <= table_width + 2;
}
constexpr int no_spare = std::numeric_limits<int>::max();

/// Leaves out spare columns until the table fits; the line that tells which, or "".
std::string fit(std::vector<Filled>& columns, const FieldTable& table) {
  std::vector<std::string> left_out;
  while (!have_room(columns, no_spare)) {
    const auto first = std::max_element(
        columns.begin(), columns.end(),
        [](const Filled& a, const Filled& b) { return a.field.spare < b.field.spare; });
    if (first->field.spare == 0) break;
    left_out.push_back(first->field.key);
    columns.erase(first);
  }
  if (left_out.empty()) return "";
  return fmt::format(
      "Not shown{}, to {}: {} ({}).", table.of.empty() ? "" : " of " + table.of,
      have_room(columns, no_spare) ? fmt::format("fit {} characters", table_width) : "be less wide",
      join(left_out, ", "), table.to_see_all);
}

/// Makes headings of the column of the problems, if several rows have the same one below each
/// other; else there are none.
std::vector<std::string> take_problems(std::vector<Filled>& columns) {
  const auto column = std::find_if(columns.begin(), columns.end(), [](const Filled& filled) {
    return filled.field.key == "problem";
  });
  if (column == columns.end()) return {};
  std::vector<std::string> headings = headings_of(column->cells);
  if (!headings.empty()) columns.erase(column);
  return headings;
}

/// Where a series has no number its status takes room in the first column of numbers.
void reserve_status(std::vector<Filled>& columns, const std::vector<Series>& rows) {
  const auto first = std::find_if(columns.begin(), columns.end(),
                                  [](const Filled& column) { return column.field.measured; });
  if (first == columns.end()) return;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (status_of(rows[i]) != "ok") first->cells[i] = rows[i].status + " [1]";
}

/// The lines of the table. A series without a number has its status and reason in their place;
/// where these do not fit, the reason is a footnote.
std::vector<Line> lines_of(const std::vector<Filled>& columns, const std::vector<Series>& rows,
                           bool any_width, Legend& legend) {
  const auto first_measured = std::find_if(
      columns.begin(), columns.end(), [](const Filled& column) { return column.field.measured; });
  const bool measured_last = std::all_of(
      first_measured, columns.end(), [](const Filled& column) { return column.field.measured; });
  std::size_t before = 0;
  for (auto column = columns.begin(); column != first_measured; ++column)
    before += width_of(*column);
  std::vector<Line> lines;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Line& line = lines.emplace_back();
    const bool ok = status_of(rows[i]) == "ok";
    const std::string why = rows[i].status + ": " + rows[i].reason;
    for (auto column = columns.begin(); column != columns.end(); ++column) {
      if (!ok && column == first_measured) {
        if (measured_last && (any_width || before + shown_width(why) <= table_width)) {
          line.note = why;
          break;
        }
        line.cells.push_back(rows[i].status + " " + legend.footnote(why));
      } else {
        line.cells.push_back(!ok && column->field.measured ? "-" : column->cells[i]);
      }
    }
  }
  return lines;
}

/// What the marks behind numbers mean, if there are numbers.
void explain_marks(const std::vector<Filled>& columns, const std::vector<Series>& rows,
                   Legend& legend) {
  if (std::none_of(columns.begin(), columns.end(),
                   [](const Filled& column) { return column.field.measured; }))
    return;
  for (const Series& series : rows) legend.add(note_of(mark_of(series)));
}

/// `intervals`: whether the intervals of the times are shown.
void explain_launches(const std::vector<Series>& rows, bool intervals, Legend& legend) {
  const auto several = [&](bool published) {
    return std::any_of(rows.begin(), rows.end(), [&](const Series& series) {
      return series.rows.size() > 1 && series.published == published;
    });
  };
  const bool ranges =
      std::any_of(rows.begin(), rows.end(), [](const Series& series) { return series.is_range; });
  if (several(true))
    legend.add("Of several published numbers of one case the best is shown, with its citation.");
  if (several(false) && !intervals)
    legend.add("Several launches: time is the median of the launch medians.");
  else if (several(false))
    legend.add(
        "Several launches: median of the launch medians, and its interval" +
        (ranges
             ? fmt::format("; fewer than {} launches have no 95 % interval: their range is shown.",
                           least_for_interval)
             : "."));
  if (ids_repeat(rows)) legend.add(environments_note);
}

void cite_published(const std::vector<NamedResult>& results, const std::vector<Series>& rows,
                    Legend& legend) {
  for (const Series& series : rows)
    if (series.published && status_of(series) == "ok") {
      legend.cite(system_of(results, series), text_of(series.first(), "citation"));
      explain_projection(system_of(results, series), series.first(), legend);
    }
}

/// What the suite says of a row.
void explain_notes(const std::vector<Series>& rows, Legend& legend) {
  for (const Series& series : rows)
    if (const std::string note = text_of(series.first(), "note"); !note.empty())
      legend.add(
          fmt::format("{} {}: {}", text_of(series.first(), "benchmark"), series.problem(), note));
}

/// The columns with their cells, without those that are empty; why these are goes into `legend`.
std::vector<Filled> columns_of(const FieldTable& table, const TableOptions& options,
                               Legend& legend) {
  const std::vector<Series>& rows = table.rows;
  const bool automatic = options.columns.empty(), everything = options.columns == all_columns;
  std::vector<Filled> columns = filled(chosen(table.fields, options.columns), rows);
  // A time that is missing, and why, is always told; a published number has none.
  const bool measured = std::any_of(rows.begin(), rows.end(), [](const Series& series) {
    return !series.published || status_of(series) != "ok";
  });
  if ((automatic || everything) && !rows.empty())
    std::erase_if(columns, [&](const Filled& column) {
      const std::string& key = column.field.key;
      const bool goes = (column.field.measured || everything) && empty(column) &&
                        !(measured && (key == "time" || key == "interval"));
      if (goes && column.field.told) legend.merge(column.legend);
      return goes;
    });
  reserve_status(columns, rows);
  return columns;
}

}  // namespace

void add_body(Page& page, const std::vector<NamedResult>& results, const std::vector<Series>& all,
              const FieldTable& table, const TableOptions& options, Legend& legend) {
  const std::vector<Series>& rows = table.rows;
  Legend of_empty;
  std::vector<Filled> columns = columns_of(table, options, of_empty);
  std::vector<std::string> headings = table.headings;
  std::string left_out;
  if (options.columns.empty() && !options.markdown) {
    if (table.problems_may_head && !have_room(columns, spared_first))
      headings = take_problems(columns);
    left_out = fit(columns, table);
  }
  const auto shows = [&](const char* key) {
    return std::any_of(columns.begin(), columns.end(),
                       [key](const Filled& column) { return column.field.key == key; });
  };
  explain_marks(columns, rows, legend);
  for (const Filled& column : columns) legend.merge(column.legend);
  legend.merge(of_empty);
  Table body{{},
             lines_of(columns, rows, options.markdown || options.columns == all_columns, legend)};
  if (!headings.empty()) body.lines = headed(std::move(body.lines), headings);
  if (!table.folded.empty()) body.lines.push_back({{}, folded_line(table.folded, all, legend)});
  cite_published(results, rows, legend);
  explain_notes(rows, legend);
  explain_launches(rows, shows("interval"), legend);
  if (shows("ceiling")) note_ceilings(results, rows, legend);
  if (!left_out.empty()) legend.add(left_out);
  for (const Filled& column : columns)
    body.columns.push_back({column.field.title, column.field.right || counts_alone(column)});
  page.table(body);
}

std::vector<std::string> headings_of(const std::vector<std::string>& texts) {
  std::vector<std::string> headings;
  std::size_t count = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool fresh = i == 0 || texts[i] != texts[i - 1];
    headings.push_back(fresh ? texts[i] : "");
    count += fresh ? 1 : 0;
  }
  if (2 * count > headings.size()) headings.clear();
  return headings;
}

std::vector<Line> headed(std::vector<Line> lines, const std::vector<std::string>& headings) {
  std::vector<Line> all;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!headings[i].empty()) all.push_back({{}, headings[i]});
    all.push_back(std::move(lines[i]));
  }
  return all;
}

bool too_wide(const FieldTable& table, const TableOptions& options) {
  Legend unused;
  return !have_room(columns_of(table, options, unused), options.markdown ? no_spare : spared_first);
}

void add_field_table(Page& page, const std::vector<NamedResult>& results,
                     const std::vector<Series>& all, const FieldTable& table,
                     const TableOptions& options) {
  Legend legend = table.legend;
  add_title(page, results,
            options.columns == all_columns ? std::vector<std::string>{} : table.constants);
  add_body(page, results, all, table, options, legend);
  page.blank();
  page.notes(legend.lines());
}

std::vector<std::string> shared_by(const std::vector<Series>& rows,
                                   const std::vector<std::string>& constants,
                                   std::vector<std::string> more) {
  std::vector<std::string> lines = constants;
  if (rows.empty()) return lines;
  const std::size_t launches = rows.front().rows.size();
  if (launches > 1 && std::all_of(rows.begin(), rows.end(), [&](const Series& series) {
        return series.rows.size() == launches;
      }))
    more.push_back(fmt::format("launches {}", launches));
  if (const std::string list = common_list(rows); !list.empty())
    more.push_back("problems of " + list);
  if (more.empty()) return lines;
  if (lines.empty() || !lines.front().starts_with("all rows: "))
    lines.insert(lines.begin(), "all rows: " + join(more, ", "));
  else
    lines.front() += ", " + join(more, ", ");
  return lines;
}

}  // namespace assay
