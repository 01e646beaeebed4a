#include "core/result/launches.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/statistics.hpp"
#include "core/result/marks.hpp"

namespace assay {

namespace {

void merge_launches(Launches& series) {
  for (const Row& row : series.rows)
    if (series.status.empty() || find_row_gravity(row.status) > find_row_gravity(series.status)) {
      series.status = row.status;
      series.reason = row.reason;
    }
  series.published = series.first().published;
  const std::size_t launches = series.rows.size();
  if (series.status != "ok") {
    const auto same = std::count_if(series.rows.begin(), series.rows.end(),
                                    [&](const Row& row) { return row.status == series.status; });
    if (launches > 1 && static_cast<std::size_t>(same) < launches)
      series.reason = fmt::format("in {} of {} launches: {}", same, launches, series.reason);
    return;
  }
  const auto timeless = std::find_if(series.rows.begin(), series.rows.end(),
                                     [](const Row& row) { return !row.time_s; });
  if (series.published && timeless != series.rows.end()) {
    std::string name;  // the schema asks for at least one rate
    for (const auto& [rate, value] : (*timeless)->rates)
      if (value && name.empty()) name = rate;
    const auto rate = [&](const Row& row) { return row.rate(name).value_or(0); };
    std::stable_sort(series.rows.begin(), series.rows.end(),
                     [&](const Row& a, const Row& b) { return rate(a) > rate(b); });
    series.rate = rate(series.first());
    series.rate_name = name;
    series.status = "unsupported";
    series.reason = fmt::format("published as a rate ({}), without a time", name);
    return;
  }
  if (series.published)
    // The best published row is quoted, with its own citation.
    std::stable_sort(series.rows.begin(), series.rows.end(),
                     [&](const Row& a, const Row& b) { return a.median() < b.median(); });
  for (const Row& row : series.rows) series.medians.push_back(row.median());
  series.median = series.published ? series.medians.front() : median(series.medians);
}

}  // namespace

std::string choose_mark(const Launches& launches) {
  std::string mark;
  for (const Row& row : launches.rows) mark = worse_mark(mark, choose_mark(row));
  return mark;
}

int find_row_gravity(const std::string& status) {
  const auto position = std::find(row_statuses.begin(), row_statuses.end(), status);
  return position == row_statuses.end() ? -1 : static_cast<int>(position - row_statuses.begin());
}

bool is_final(const std::string& status) {
  return status == "incorrect" || status == "target missed";
}

void LaunchGroups::add(SharedRow shared, const std::string& environment) {
  const Row& row = shared;
  if (!row.published)
    for (Entry& earlier : entries_) {
      if (earlier.launch != row.launch) continue;
      const Row& other = earlier.row;
      if (other.attempt == row.attempt) continue;
      const bool newer = other.attempt < row.attempt;
      // Rows may be in any order.
      const Row& before = newer ? other : row;
      // A process that died before it recorded its environment differs in it from its repetition,
      // which still replaces it. But two times from two environments are two series.
      if (earlier.environment != environment && before.is_ok()) continue;
      const bool keep_before = is_final(before.status);
      if (newer != keep_before) earlier = {row.launch, std::move(shared), environment};
      return;
    }
  entries_.push_back({row.launch, std::move(shared), environment});
}

std::vector<Launches> LaunchGroups::summarize() const { return LaunchGroups(*this).take(); }

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
