#pragma once
// The content of the journal of a run (core/result/journal.hpp): reads and writes its events.

#include <compare>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/result/run_result.hpp"

namespace assay {

/// A process of a run, identified in events and rows.
struct ProcessKey {
  std::string benchmark{};
  std::int64_t launch = 0, attempt = 0;
  auto operator<=>(const ProcessKey&) const = default;
};

/// An event of a process, or about one. Only the fields of its kind have values.
struct RunEvent {
  std::string kind{};       ///< "launch", "begin", "row", "end", "given_up", …
  std::string benchmark{};  ///< of a launch, an end, an abandoned process
  std::string schema{};     ///< of the result files that the rows of a launch follow
  std::string id{};         ///< of the case that begins
  std::optional<std::int64_t> launch{}, attempt{}, rows{};
  std::optional<Row> row{};
  nlohmann::json environment{};               ///< of a launch
  std::vector<std::string> rank_processes{};  ///< process ids by rank, of a launch
  nlohmann::json volatile_after{};            ///< of an end

  ProcessKey process() const;
};
void to_json(nlohmann::json& json, const RunEvent& event);
void from_json(const nlohmann::json& json, RunEvent& event);

/// The event "row".
RunEvent row_event(Row row);
/// The event "given_up": the process was abandoned when it had written `rows` rows.
RunEvent make_abandoned_event(const ProcessKey& process, std::size_t rows);

/// A row, and the indices of the brackets that were measured before and after it in its session. A
/// measurement before an interruption tells nothing about the machine after it.
struct RecordedRow {
  Row row{};
  std::vector<std::size_t> brackets{};
};

/// The content of a journal.
struct RunRecord {
  /// A run from its start, or from its resumption, to its end.
  struct Session {
    bool resumed = false;
    std::string id{};
  };
  struct Process {
    ProcessKey key{};
    ResultEnvironment environment{};
  };
  std::string schema = result_schema;  ///< the latest of its processes
  std::optional<RunHeader> header{};   ///< nothing: the journal has no event "run"
  ResultEnvironment environment{};     ///< of the process that wrote the header
  std::vector<Session> sessions{};
  std::vector<Process> processes{};        ///< in the order of their starts
  std::vector<nlohmann::json> brackets{};  ///< as in the result's run.bracket
  /// The rows in the result. The first row of each case in a launch counts. A later row counts if
  /// all earlier ones failed or were unsupported, and a resumed run has tried again.
  std::vector<RecordedRow> rows{};
};

/// The content of these events. Rows that a process wrote after it was abandoned do not count,
/// because a process that is being terminated may still write rows. The position of its event
/// "given_up" does not matter: the event is written when the process is dead, because a stopped
/// process may hold the journal's lock.
RunRecord make_record(const std::vector<nlohmann::json>& events);

/// Reads the journal of a run. InputError with file, line, JSON pointer, found and expected value,
/// for an event that violates journal.schema.json or whose row, environment or bracket would be
/// refused in a result file.
RunRecord read_run(const std::filesystem::path& journal);

/// True if a resumed run repeats the case of this row: its status is failed or timeout. An
/// incorrect row is a finding, and is not repeated.
bool may_be_repeated(const Row& row);

class JournalFollower {
 public:
  /// Starts at the present end of the file.
  explicit JournalFollower(std::filesystem::path file);
  /// The events appended since the last call. An incomplete line is returned by a later call.
  std::vector<nlohmann::json> poll();

 private:
  std::filesystem::path file_;
  std::uintmax_t offset_ = 0;
};

}  // namespace assay
