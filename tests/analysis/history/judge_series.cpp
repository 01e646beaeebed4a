// Judges made-up series for tests/self_benchmark/support/history-table: reads an object per line
// from stdin, writes an object per line to stdout.
//
// {"values": […], "rows": number of rows of the suite, "shared": [index, …], "weeks": [n, …],
// "promoted": […], "new": […]} gives the
// state after the first n values for each n and, for a suspect, the answer of the launches
// "promoted" and "new" where they are given. Without "weeks", the change points of all values are
// found.

#include <cstdlib>
#include <iostream>

#include "analysis/history/confirm.hpp"
#include "analysis/history/history.hpp"
#include "core/base/statistics.hpp"

namespace assay {
namespace {

using nlohmann::json;

constexpr double tolerance = 0.05;

RowHistory series_of(const json& line, std::size_t weeks, std::size_t number) {
  RowHistory series;
  series.id = "row" + std::to_string(number);
  series.benchmark = series.hardware = series.system = "x";
  for (std::size_t i = 0; i < weeks; ++i) {
    Point& point = series.points.emplace_back();
    point.time = static_cast<double>(i);
    point.run = std::to_string(i);
    point.value = line.at("values").at(i);
  }
  for (const std::size_t index : line.value("shared", json::array()))
    if (index < weeks) series.points[index].shared = true;
  return series;
}

SeriesVerdict judged(const RowHistory& series, double rows) {
  return judge_series(series, nullptr, false_alarm_rate / rows, tolerance);
}

json answered(const json& line, std::size_t number) {
  const double rows = line.at("rows");
  json states = json::array(), answers = json::array(), changes = json::array();
  for (const std::size_t weeks : line.value("weeks", json::array())) {
    const std::string state = judged(series_of(line, weeks, number), rows).state;
    states.push_back(state);
    json answer;
    if (state == "suspect" && line.contains("promoted")) {
      const std::vector<double> before = line["promoted"], after = line["new"];
      answer = judge_launches(before, after, median(before), tolerance, confirm_rate).answer;
    }
    answers.push_back(answer);
  }
  if (!line.contains("weeks")) {
    const RowHistory series = series_of(line, line.at("values").size(), number);
    for (const LevelChange& change : judged(series, rows).changes) changes.push_back(change.index);
  }
  return {{"states", states}, {"answers", answers}, {"changes", changes}};
}

}  // namespace
}  // namespace assay

int main() {
  std::size_t number = 0;
  for (std::string text; std::getline(std::cin, text);)
    std::cout << assay::answered(nlohmann::json::parse(text), number++) << "\n";
  return EXIT_SUCCESS;
}
