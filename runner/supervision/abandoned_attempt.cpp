#include "runner/supervision/abandoned_attempt.hpp"

#include <map>
#include <utility>

#include "core/result/journal.hpp"
#include "runner/run/journal_check.hpp"

namespace assay {

using nlohmann::json;

Process process_of(const json& event) {
  return {event.value("benchmark", ""), event.value("launch", 0), event.value("attempt", 0)};
}

json abandoned_event(const std::string& benchmark, int launch, int attempt, std::size_t rows) {
  return {{"event", "given_up"},
          {"benchmark", benchmark},
          {"launch", launch},
          {"attempt", attempt},
          {"rows", rows}};
}

std::vector<json> without_late_rows(std::vector<json> events) {
  std::map<Process, std::size_t> in_time;
  for (const json& event : events)
    if (event.value("event", "") == "given_up")
      in_time.emplace(process_of(event), event.value("rows", std::size_t{0}));
  std::erase_if(events, [&](const json& event) {
    if (event.value("event", "") != "row") return false;
    const json& row = event.at("row");
    const auto left = in_time.find(process_of(row));
    // A timeout is the word of `assay run` itself, which gives the process's number to it.
    if (left == in_time.end() || row.value("status", "") == "timeout") return false;
    if (left->second == 0) return true;
    --left->second;
    return false;
  });
  return events;
}

std::vector<json> read_run(const std::filesystem::path& journal) {
  std::vector<json> events = read_journal(journal);
  check_events(events, journal);
  return without_late_rows(std::move(events));
}

}  // namespace assay
