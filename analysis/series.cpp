#include "analysis/series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace assay {

using nlohmann::json;

std::string text_of(const json& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string Series::parameter(const std::string& name) const {
  return text_of(first().at("parameters"), name);
}

std::string Series::algorithm() const {
  const std::string asked = parameter("algorithm");
  const json executed = first().value("executed", json());
  const std::string ran = executed.is_object() ? text_of(executed, "algorithm") : "";
  if (ran.empty() || ran == asked) return asked;
  return asked.empty() ? ran : fmt::format("{} ({})", ran, asked);
}

std::string Series::problem() const {
  const json names = first().value("names", json::array());
  return names.empty() ? text_of(first().at("problem"), "descriptor")
                       : names.front().get<std::string>();
}

namespace {

int gravity(const std::string& status) {
  static constexpr std::array<const char*, 5> order{"ok", "unsupported", "timeout", "failed",
                                                    "incorrect"};
  const auto found = std::find(order.begin(), order.end(), status);
  return static_cast<int>(found - order.begin());
}

void summarize_series(Series& series) {
  std::vector<double> medians;
  for (const json& row : series.rows) {
    const std::string status = row.at("status");
    if (series.status.empty() || gravity(status) > gravity(series.status)) {
      series.status = status;
      series.reason = text_of(row, "reason");
    }
    if (status == "ok") medians.push_back(row.at("time_s").at("median"));
  }
  series.published = series.first().value("published", false);
  const std::size_t launches = series.rows.size();
  if (series.status != "ok") {
    const auto same = std::count_if(series.rows.begin(), series.rows.end(), [&](const json& row) {
      return row.at("status") == series.status;
    });
    if (launches > 1 && static_cast<std::size_t>(same) < launches)
      series.reason = fmt::format("in {} of {} launches: {}", same, launches, series.reason);
    return;
  }
  series.median = median(medians);
  const json ci = series.first().at("time_s").value("ci95", json());
  if (launches > 1) {
    // The launch is the unit: samples within one share its memory layout and binding, and their
    // interval is too narrow.
    series.interval = median_interval(medians);
    series.has_interval = true;
  } else if (ci.is_array()) {
    series.interval = {ci.at(0), ci.at(1)};
    series.has_interval = true;
  }
}

/// A later attempt makes good a crash, never a wrong result.
void add_launch(std::vector<json>& rows, const json& row) {
  for (json& earlier : rows) {
    if (earlier.at("launch") != row.at("launch") || earlier.at("attempt") == row.at("attempt"))
      continue;
    if (earlier.at("status") == "incorrect") return;
    if (earlier.at("attempt") < row.at("attempt")) earlier = row;
    return;
  }
  rows.push_back(row);
}

using SortKey = std::tuple<std::string, std::string, int, std::string, std::string, std::string,
                           std::string, std::size_t>;

SortKey sort_key(const Series& series) {
  // Training's own order, not the alphabet's.
  const std::string direction = series.parameter("direction");
  const int pass = direction == "forward" ? 0 : direction == "bwd_data" ? 1 : 2;
  const json& row = series.first();
  return {text_of(row, "benchmark"),
          series.problem(),
          pass,
          series.parameter("precision"),
          series.parameter("algorithm"),
          series.parameter("backend"),
          text_of(row, "id"),
          series.result};
}

}  // namespace

std::vector<Series> series_of(const std::vector<NamedResult>& results) {
  std::vector<Series> all;
  std::map<std::pair<std::size_t, std::string>, std::size_t> place;
  for (std::size_t r = 0; r < results.size(); ++r)
    for (const json& row : results[r].result.at("rows")) {
      const auto [at, fresh] =
          place.emplace(std::pair(r, row.at("id").get<std::string>()), all.size());
      if (fresh) {
        all.emplace_back();
        all.back().result = r;
      }
      add_launch(all[at->second].rows, row);
    }
  for (Series& series : all) summarize_series(series);
  // A run has its cases in random order; people look for a problem, and compare what stands
  // together.
  std::stable_sort(all.begin(), all.end(),
                   [](const Series& a, const Series& b) { return sort_key(a) < sort_key(b); });
  return all;
}

}  // namespace assay
