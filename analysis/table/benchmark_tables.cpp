#include "analysis/table/benchmark_tables.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "analysis/table/cells.hpp"
#include "analysis/table/folded.hpp"
#include "analysis/table/table.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

constexpr std::string_view of_all = "all rows: ";

}  // namespace

std::vector<std::vector<Series>> by_benchmark(const std::vector<Series>& rows) {
  std::vector<std::string> names;
  std::vector<std::vector<Series>> groups;
  for (const Series& series : rows) {
    const std::string name = text_of(series.first(), "benchmark");
    const auto place =
        static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (place == names.size()) {
      names.push_back(name);
      groups.emplace_back();
    }
    groups[place].push_back(series);
  }
  return groups;
}

bool of_all_rows(const std::string& line) { return line.starts_with(of_all); }

std::vector<std::string> of_one_benchmark(std::vector<std::string> lines) {
  for (std::string& line : lines)
    if (of_all_rows(line)) line.erase(0, of_all.size());
  return lines;
}

void add_benchmark_tables(Page& page, const std::vector<NamedResult>& results,
                          const std::vector<Series>& all, const FieldTable& whole,
                          const MakeFields& make, const std::vector<std::string>& more,
                          const TableOptions& options) {
  const std::set<std::string> shared = shared_parameters(whole.rows);
  std::vector<std::string> constants;
  for (const std::string& name : parameter_names(whole.rows))
    if (const std::string text = axis_text(whole.rows.front(), name);
        shared.contains(name) && !text.empty())
      constants.push_back(name + " " + text);
  constants.insert(constants.end(), more.begin(), more.end());
  if (!constants.empty()) constants.assign(1, std::string(of_all) + join(constants, ", "));
  add_title(page, results, constants);
  Legend legend = whole.legend;
  const auto paragraph = [&](const std::string& text) {
    page.line(text);
    page.gap();
  };
  for (std::vector<Series>& rows : by_benchmark(whole.rows)) {
    FieldTable table;
    table.of = text_of(rows.front().first(), "benchmark");
    table.problems_may_head = whole.problems_may_head;
    table.to_see_all = whole.to_see_all;
    table.rows = std::move(rows);
    const Axes axes = axes_of(table.rows, "", shared);
    table.fields = make(table.rows, axes);
    std::vector<std::string> name = of_one_benchmark(shared_by(table.rows, axes.constants));
    name.insert(name.begin(), table.of);
    paragraph(join(name, ": "));
    add_body(page, results, all, table, options, legend);
    page.blank();
  }
  if (!whole.folded.empty()) {
    paragraph(folded_line(whole.folded, all, legend));
    page.blank();
  }
  page.notes(legend.lines());
}

}  // namespace assay
