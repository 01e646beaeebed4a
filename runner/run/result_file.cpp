#include "runner/run/result_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/result/result.hpp"
#include "core/result/result_check.hpp"
#include "core/result/run_header.hpp"
#include "core/result/schema.hpp"
#include "runner/ceilings/ceiling.hpp"
#include "runner/supervision/abandoned_attempt.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// By row: the brackets measured before and after it. Only those of one session: what
/// was measured before an interruption tells nothing of the machine after it.
using Key = std::tuple<int, std::string, int>;  ///< launch, id, attempt
using Around = std::map<Key, std::vector<std::size_t>>;

Key key_of(const json& row) {
  return {row.value("launch", 0), row.value("id", ""), row.value("attempt", 0)};
}

/// Which rows of a journal stand in the result: of each case in a launch the first one, and a later
/// one where every one before it failed or was unsupported, and a resumed run has tried again.
class Kept {
 public:
  bool add(const json& row) {
    const auto [found, fresh] =
        done_.try_emplace({row.value("launch", 0), row.value("id", "")}, false);
    if (found->second) return false;
    found->second = !may_be_repeated(row) && row.value("status", "") != "unsupported";
    return true;
  }

 private:
  std::map<std::pair<int, std::string>, bool> done_;  ///< whether there is a row that stands
};

Around brackets_around(const std::vector<json>& events, std::vector<Bracket>& brackets) {
  Around around;
  std::vector<Key> open;  // rows since the last bracket
  Kept kept;
  std::vector<std::size_t> before;  // the last bracket of the session, if there is one
  for (const json& event : events) {
    const std::string kind = event.value("event", "");
    if (kind == "run" || kind == "resume") {
      before.clear();
      open.clear();
    } else if (kind == "bracket") {
      const std::size_t index = brackets.size();
      brackets.push_back(event);
      brackets.back().erase("event");
      for (const auto& row : open) around[row].push_back(index);
      open.clear();
      before = {index};
    } else if (kind == "row") {
      const json& row = event.at("row");
      if (!kept.add(row) || !around.try_emplace(key_of(row), before).second) continue;
      open.push_back(key_of(row));
    }
  }
  return around;
}

/// The event with which the run began.
const json& begin_of(const std::vector<json>& events) {
  const auto run = std::find_if(events.begin(), events.end(), [](const json& event) {
    return event.value("event", "") == "run";
  });
  if (run == events.end())
    throw InputError(
        "the journal has no event \"run\", which tells of what run its rows are. No result can be "
        "made of it: start another run.");
  return *run;
}

}  // namespace

bool may_be_repeated(const json& row) {
  const std::string status = row.value("status", "");
  return status == "failed" || status == "timeout";
}

json collect(const std::vector<json>& events, const std::vector<Baseline>& baselines,
             const std::vector<std::string>& left_out) {
  const json& run = begin_of(events);
  RunHeader header = run;
  header.case_hashes.clear();
  header.resumed =
      static_cast<int>(std::count_if(events.begin(), events.end(), [](const json& event) {
        return event.value("event", "") == "resume";
      }));
  json environments = json::array();
  std::map<Process, int> places;
  int own =
      -1;  // of `assay run` itself, for rows of processes that died before they could tell theirs
  for (const json& event : events) {
    if (event.value("event", "") != "launch") continue;
    const auto [place, fresh] =
        places.emplace(process_of(event), static_cast<int>(environments.size()));
    if (fresh) environments.push_back(event.at("environment"));
  }
  for (const json& event : events)
    if (const auto place = places.find(process_of(event));
        event.value("event", "") == "end" && place != places.end() && event.contains("volatile"))
      environments[static_cast<std::size_t>(place->second)]["volatile_after"] =
          event.at("volatile");
  std::vector<Bracket> brackets;
  const Around around = brackets_around(events, brackets);
  const char* const none = !header.settings || header.settings->ceilings
                               ? "no ceiling was measured before or after the row"
                               : "ceilings were switched off (by the suite or --no-ceilings)";
  json rows = json::array();
  Kept kept;
  for (const json& event : events) {
    if (event.value("event", "") != "row") continue;
    json row = event.at("row");
    if (!kept.add(row)) continue;
    if (const auto place = places.find(process_of(row)); place != places.end()) {
      row["environment"] = place->second;
    } else {
      if (own < 0) {
        own = static_cast<int>(environments.size());
        environments.push_back(run.at("environment"));
      }
      row["environment"] = own;
    }
    if (row.value("status", "") == "ok") add_baseline(row, baselines);
    add_ceiling(row, brackets, around.at(key_of(row)),
                environments.at(row.at("environment").get<std::size_t>()), none);
    rows.push_back(std::move(row));
  }
  header.brackets = std::move(brackets);
  header.finished = utc_now();
  header.left_out = left_out;
  json result = make_result(header);
  if (header.settings && !header.settings->system.empty())
    result["system"]["name"] = header.settings->system;
  result["environments"] = std::move(environments);
  result["rows"] = std::move(rows);
  return result;
}

json write_result(const std::vector<json>& events, const std::filesystem::path& journal,
                  const std::filesystem::path& file, const std::vector<Baseline>& baselines,
                  const std::vector<std::string>& left_out) {
  json result;
  try {
    result = collect(events, baselines, left_out);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", journal.string(), error.what()));
  }
  // A file that breaks the public schema must not exist under the name of a result.
  if (const auto errors = schema_errors(result, "result", file.string()); !errors.empty())
    throw std::runtime_error(
        fmt::format("the result of this run violates its schema ({}). The journal {} is kept; "
                    "please report this as a bug of Assay.",
                    errors.front(), journal.string()));
  for (std::size_t i = 0; i < result.at("rows").size(); ++i)
    check_row(result["rows"][i], i, result, file.string());
  write_json(file, result);
  return result;
}

}  // namespace assay
