#include "analysis/model/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/load.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/result/launches.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// An empty text counts as null.
FrameValue make_cell(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_string() && !value.get_ref<const std::string&>().empty()) return value;
  return value.is_number() ? value : FrameValue();
}

/// `emplace` keeps the first value, so a parameter never hides a column of the row, and a field of
/// the problem never hides a parameter.
std::map<std::string, FrameValue> make_cells(const std::string& system, const std::string& host,
                                             const Row& row) {
  std::map<std::string, FrameValue> cells;
  const auto put = [&](const std::string& column, const json& value) {
    if (const FrameValue cell = make_cell(value); !cell.is_null()) cells.emplace(column, cell);
  };
  if (row.time_s) put("time", row.time_s->median);
  if (row.verification) put("error", number_or_null(row.verification->max_error));
  for (const auto& [name, rate] : row.rates) put("rate." + name, number_or_null(rate));
  put("system", system);
  put("host", host);
  put("benchmark", row.benchmark);
  if (!row.names.empty()) put("name", row.names.front());
  put("problem", row.problem.descriptor);
  if (row.execution) {  // the parameters have the requested algorithm
    put("ran", row.execution->algorithm);
    put("implementation", row.execution->implementation);
  }
  for (const auto& [name, value] : row.parameters) put(name, value);
  put("flops", number_or_null(row.problem.flops));
  put("bytes", number_or_null(row.problem.bytes));
  put("passes", number_or_null(row.problem.passes));
  if (row.problem.shared_by) put("shared_by", *row.problem.shared_by);
  for (const auto& [name, value] : row.problem.rest.items()) put(name, value);
  return cells;
}

Observation make_observation(const std::string& system, const std::string& host, std::size_t result,
                             const Row& row) {
  Observation observation;
  observation.cells = make_cells(system, host, row);
  observation.published = row.published;
  observation.label = fmt::format("{}: {}", system, row.id);
  if (row.published) {
    observation.launch = observation.label;
    observation.citation = row.citation;
  } else {
    observation.label += fmt::format(", launch {}", row.launch);
    observation.launch = fmt::format("{} {} {}", result, host, row.launch);
    observation.shared = was_shared(row);
    observation.throttled = was_throttled(row);
  }
  if (!row.incomparable.empty()) {
    observation.incomparable = row.incomparable;
    observation.scope = row.comparable_within.empty() ? fmt::format("its own file {}", result)
                                                      : row.comparable_within;
  }
  return observation;
}

}  // namespace

bool keep_for_model(Row& row, std::string_view, const RunResult&) {
  Row kept = take_case_and_time(row);
  kept.rates = std::move(row.rates);
  if (row.verification) kept.verification.emplace().max_error = row.verification->max_error;
  kept.citation = std::move(row.citation);
  kept.comparable_within = std::move(row.comparable_within);
  row = std::move(kept);
  return true;
}

const FrameValue& Observation::at(const std::string& column) const {
  static const FrameValue none;
  const auto cell = cells.find(column);
  return cell == cells.end() ? none : cell->second;
}

std::string level_name(const FrameValue& cell) {
  if (cell.is_string()) return cell;
  return cell.is_number_float() ? fmt::format("{}", cell.get<double>()) : cell.dump();
}

Frame::Frame(const Results& results) {
  std::map<std::string, std::size_t> excluded;
  for (std::size_t i = 0; i < results.size(); ++i) {
    // The set contains ids, because an incorrect launch excludes the other launches of its id.
    std::vector<std::string> ids;
    std::map<std::string, LaunchGroups> groups;
    const auto& rows = results[i].rows();
    for (const Row& row : rows) {
      if (!groups.contains(row.id)) ids.push_back(row.id);
      groups[row.id].add(SharedRow::in(row), results[i].environment(row).key());
    }
    for (const std::string& id : ids)
      for (const Launches& launches : groups[id].take())
        for (const Row& row : launches.rows) {
          if (launches.status == "ok")
            observations_.push_back(
                make_observation(results[i].system(), results[i].environment(row).host, i, row));
          else if (!row.is_ok())
            ++excluded[row.status];
          else
            ++excluded[fmt::format("ok, but another launch of the id is {}", launches.status)];
        }
  }
  for (const auto& [reason, rows] : excluded) left_out_.push_back({rows, reason});
  // All published rows of an id have the same launch number.
  std::map<std::string, int> seen;
  for (Observation& observation : observations_)
    if (const int n = ++seen[observation.launch]; observation.published && n > 1)
      observation.launch += fmt::format(" #{}", n);
}

std::vector<std::string> Frame::columns() const {
  std::set<std::string> names;
  for (const Observation& observation : observations_)
    for (const auto& [name, cell] : observation.cells) names.insert(name);
  return {names.begin(), names.end()};
}

bool Frame::numeric(const std::string& column) const {
  return std::all_of(observations_.begin(), observations_.end(),
                     [&](const Observation& observation) {
                       const FrameValue& cell = observation.at(column);
                       return cell.is_null() || cell.is_number();
                     });
}

template <class Keep>
void Frame::keep_only(const Keep& wanted, const std::string& reason_of_others) {
  const std::size_t before = size();
  std::erase_if(observations_,
                [&](const Observation& observation) { return !wanted(observation); });
  if (size() < before) left_out_.push_back({before - size(), reason_of_others});
}

std::string Frame::reasons() const {
  std::vector<std::string> all;
  for (const Exclusion& rows : left_out_)
    all.push_back(fmt::format("{}: {}", rows.rows, rows.reason));
  return all.empty() ? "the files have no rows" : join(all, ", ");
}

void Frame::select(const std::vector<std::string>& columns) {
  if (observations_.empty())
    throw NothingToModel(
        fmt::format("no row can be used ({}). Give results with rows that are ok.", reasons()));
  const std::vector<std::string> known = this->columns();
  for (const std::string& column : columns)
    if (std::find(known.begin(), known.end(), column) == known.end())
      // The error lists the columns of the results, because no other command lists them.
      throw InputError(
          explain_unknown_name("column", column, known) +
          (known.size() > most_valid_names ? " The results have: " + join(known, ", ") + "." : ""));
  for (const std::string& column : columns)
    keep_only([&](const Observation& observation) { return !observation.at(column).is_null(); },
              fmt::format("no value of {}", column));
  if (observations_.empty())
    throw NothingToModel(fmt::format(
        "no row has all columns of the formula (rows left out: {}). Remove a column.", reasons()));
  // A number that its source calls incomparable never enters a fit with other numbers.
  std::string scope = observations_.front().scope;
  for (const Observation& observation : observations_)
    if (observation.scope.empty()) scope.clear();
  std::set<std::string> reasons;
  for (const Observation& observation : observations_)
    if (observation.scope != scope) reasons.insert(observation.incomparable);
  keep_only([&](const Observation& observation) { return observation.scope == scope; },
            "not comparable with the others: " +
                join(std::vector<std::string>(reasons.begin(), reasons.end()), "; "));
}

std::vector<Eigen::Index> group_observations(const Frame& frame, const std::string& by) {
  std::map<std::string, Eigen::Index> known;
  std::vector<Eigen::Index> groups;
  for (const Observation& observation : frame.observations()) {
    const auto next = static_cast<Eigen::Index>(known.size());
    const std::string name = by == "launch" ? observation.launch : level_name(observation.at(by));
    groups.push_back(known.emplace(name, next).first->second);
  }
  return groups;
}

}  // namespace assay
