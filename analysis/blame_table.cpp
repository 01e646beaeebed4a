#include "analysis/blame_table.hpp"

#include <fmt/format.h>

#include "core/base/units.hpp"

namespace assay {
namespace {

struct BlameLine {
  const Row* row;
  const Blame::Culprit* blamed = nullptr;
};

std::string format_percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

std::string why_nobody(const Blame& blame) {
  if (!blame.unsupported.empty()) return "unsupported: " + blame.unsupported;
  std::string links;
  if (blame.links && !blame.links->unsupported.empty())
    links = fmt::format("; links are not measured: {}", blame.links->unsupported);
  if (!blame.undecided.empty())
    return fmt::format("undecided in {}: {}{}", blame.period, blame.undecided, links);
  return fmt::format("nobody in {}: each rank costs less than {}, within {}{}", blame.period,
                     format_percent(least_blame), format_percent(blame.resolution), links);
}

}  // namespace

Table make_blame_table(const std::vector<const Row*>& rows) {
  std::vector<BlameLine> lines;
  for (const Row* const row : rows) {
    if (!row->blame) continue;
    for (const Blame::Culprit& blamed : row->blame->blamed) lines.push_back({row, &blamed});
    if (row->blame->blamed.empty()) lines.push_back({row});
  }
  Table table{{}, std::vector<Line>(lines.size())};
  table.add({"row"}, [&](std::size_t i) { return lines[i].row->id; });
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].blamed == nullptr) table.lines[i].note = why_nobody(*lines[i].row->blame);
  const auto add = [&](Column column, const auto& cell) {
    table.add(std::move(column), [&](std::size_t i) -> Cell { return cell(*lines[i].blamed); });
  };
  add({"rank", true}, [](const Blame::Culprit& place) {
    return place.rank ? Cell(std::to_string(*place.rank), *place.rank) : Cell("-");
  });
  add({"host"}, [](const Blame::Culprit& place) { return Cell(place.host); });
  add({"place", false, "", 3}, [](const Blame::Culprit& place) { return Cell(place.place); });
  add({"in", false, "", 1}, [](const Blame::Culprit& place) { return Cell(place.did); });
  add({"because"}, [](const Blame::Culprit& place) { return Cell(place.how); });
  add({"cost", true},
      [](const Blame::Culprit& place) { return Cell(format_percent(place.cost), place.cost); });
  add({"time", true, "", 2},
      [](const Blame::Culprit& place) { return Cell(format_seconds(place.cost_s), place.cost_s); });
  table.add({"of", false, "", 4},
            [&](std::size_t i) -> Cell { return lines[i].row->blame->period; });
  return table;
}

}  // namespace assay
