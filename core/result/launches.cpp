#include "core/result/launches.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/statistics.hpp"
#include "core/result/marks.hpp"

namespace assay {

using nlohmann::json;

namespace {

bool has_status(const json& row, const char* status) { return row.at("status") == status; }

void merge_launches(Launches& series) {
  for (const json& row : series.rows) {
    const std::string status = row.at("status");
    if (series.status.empty() || row_gravity(status) > row_gravity(series.status)) {
      series.status = status;
      const json reason = row.value("reason", json());
      series.reason = reason.is_string() ? reason.get<std::string>() : "";
    }
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
  const auto timeless = std::find_if(series.rows.begin(), series.rows.end(),
                                     [](const json& row) { return row.at("time_s").is_null(); });
  if (series.published && timeless != series.rows.end()) {
    std::string name;  // the schema asks for at least one rate
    const json& row = *timeless;
    for (const auto& [rate, value] : row.at("rates").items())
      if (value.is_number() && name.empty()) name = rate;
    const auto rate_of = [&](const json& row) { return row.at("rates").value(name, 0.0); };
    std::stable_sort(series.rows.begin(), series.rows.end(),
                     [&](const json& a, const json& b) { return rate_of(a) > rate_of(b); });
    series.rate = rate_of(series.first());
    series.rate_name = name;
    series.status = "unsupported";
    series.reason = fmt::format("published as a rate ({}), without a time", name);
    return;
  }
  const auto seconds = [](const json& row) { return row.at("time_s").at("median").get<double>(); };
  if (series.published)
    // The best that its source prints is quoted, with its own citation.
    std::stable_sort(series.rows.begin(), series.rows.end(),
                     [&](const json& a, const json& b) { return seconds(a) < seconds(b); });
  for (const json& row : series.rows) series.medians.push_back(seconds(row));
  series.median = series.published ? series.medians.front() : median(series.medians);
}

}  // namespace

std::string mark_of(const Launches& launches) {
  std::string mark;
  for (const json& row : launches.rows) mark = worse_mark(mark, mark_of(row));
  return mark;
}

int row_gravity(const std::string& status) {
  const auto found = std::find(row_statuses.begin(), row_statuses.end(), status);
  return found == row_statuses.end() ? -1 : static_cast<int>(found - row_statuses.begin());
}

bool is_final(const std::string& status) {
  return status == "incorrect" || status == "target missed";
}

std::string environment_key(const json& result, const json& row) {
  const json& all = result.at("environments");
  const std::size_t index = row.at("environment");
  if (index >= all.size() || !all[index].contains("hashes")) return "";
  const json& hashes = all[index]["hashes"];
  return hashes.value("hardware", json()).dump() + " " + hashes.value("software", json()).dump();
}

void LaunchGroups::add(SharedRow shared, const std::string& environment) {
  const json& row = shared;
  const auto launch = row.at("launch").get<std::int64_t>();
  if (!row.value("published", false))
    for (Entry& earlier : entries_) {
      if (earlier.launch != launch) continue;
      const json& other = earlier.row;
      if (other.at("attempt") == row.at("attempt")) continue;
      const bool newer = other.at("attempt") < row.at("attempt");
      // Rows may stand in any order.
      const json& before = newer ? other : row;
      // A process that died before it told its environment has another one than its repetition, and
      // is still made good by it; two times of two environments are two series.
      if (earlier.environment != environment && has_status(before, "ok")) continue;
      const bool keep_before = is_final(before.at("status"));
      if (newer != keep_before) earlier = {launch, std::move(shared), environment};
      return;
    }
  entries_.push_back({launch, std::move(shared), environment});
}

std::vector<Launches> LaunchGroups::summarized() const { return LaunchGroups(*this).take(); }

std::vector<Launches> LaunchGroups::take() {
  std::vector<Launches> all;
  for (Entry& entry : entries_) {
    auto place = std::find_if(all.begin(), all.end(), [&](const Launches& launches) {
      return launches.environment == entry.environment;
    });
    if (place == all.end()) {
      place = all.emplace(all.end());
      place->environment = entry.environment;
    }
    place->rows.push_back(std::move(entry.row));
  }
  entries_.clear();
  for (Launches& group : all) merge_launches(group);
  return all;
}

}  // namespace assay
