#include "runner/run/run_record.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/json_fields.hpp"
#include "core/result/journal.hpp"
#include "core/result/result.hpp"
#include "core/result/result_check.hpp"
#include "core/result/schema.hpp"

namespace assay {

using nlohmann::json;

void visit_fields(SameAs<RunEvent> auto& event, auto& fields) {
  fields.always("event", event.kind);
  fields.optional("benchmark", event.benchmark, "schema", event.schema, "id", event.id, "launch",
                  event.launch, "attempt", event.attempt, "rows", event.rows, "environment",
                  event.environment, "rank_processes", event.rank_processes, "volatile",
                  event.volatile_after);
}
void to_json(json& document, const RunEvent& event) {
  document = write_fields(event);
  if (event.row) document["row"] = *event.row;
}
void from_json(const json& document, RunEvent& event) {
  read_fields(document, event);
  if (event.kind == "row") event.row = document.at("row").get<Row>();
}

ProcessKey RunEvent::process() const {
  if (row) return {row->benchmark, row->launch, row->attempt};
  return {benchmark, launch.value_or(0), attempt.value_or(0)};
}

RunEvent row_event(Row row) { return {.kind = "row", .row = std::move(row)}; }

RunEvent make_abandoned_event(const ProcessKey& process, std::size_t rows) {
  return {.kind = "given_up",
          .benchmark = process.benchmark,
          .launch = process.launch,
          .attempt = process.attempt,
          .rows = static_cast<std::int64_t>(rows)};
}

bool may_be_repeated(const Row& row) { return row.status == "failed" || row.status == "timeout"; }

namespace {

std::string read_kind(const json& event) { return event.value("event", ""); }

/// Builds the record, event by event.
class Recorder {
 public:
  explicit Recorder(const std::vector<json>& events) {
    for (const json& event : events)
      if (read_kind(event) == "given_up") {
        const RunEvent abandoned = event;
        in_time_.emplace(abandoned.process(), abandoned.rows.value_or(0));
      }
  }

  void add(const json& document) {
    const std::string kind = read_kind(document);
    if (kind == "run" || kind == "resume") return begin_session(document, kind == "resume");
    if (kind == "bracket") return add_bracket(document);
    if (kind != "launch" && kind != "row" && kind != "end") return;
    RunEvent event = document;
    if (event.row) {
      if (is_in_time(event)) add_row(std::move(*event.row));
    } else if (const auto place = places_.find(event.process()); kind == "launch") {
      if (place != places_.end()) return;
      places_[event.process()] = record_.processes.size();
      record_.processes.push_back({event.process(), event.environment});
      if (schema_version(event.schema) > schema_version(record_.schema))
        record_.schema = event.schema;
    } else if (place != places_.end() && !event.volatile_after.is_null()) {
      record_.processes[place->second].environment.volatile_after = event.volatile_after;
    }
  }

  RunRecord take() { return std::move(record_); }

 private:
  void begin_session(const json& event, bool resumed) {
    RunHeader header = event;
    record_.sessions.push_back({resumed, header.id});
    last_bracket_.clear();
    open_.clear();
    if (resumed || record_.header) return;
    record_.environment = event.at("environment");
    record_.header = std::move(header);
  }

  void add_bracket(json event) {
    event.erase("event");
    last_bracket_ = {record_.brackets.size()};
    record_.brackets.push_back(std::move(event));
    for (const std::size_t row : open_) record_.rows[row].brackets.push_back(last_bracket_.front());
    open_.clear();
  }

  bool is_in_time(const RunEvent& event) {
    const auto left = in_time_.find(event.process());
    // `assay run` itself writes the row of a timeout, with the number of the process.
    if (left == in_time_.end() || event.row->status == "timeout") return true;
    if (left->second == 0) return false;
    --left->second;
    return true;
  }

  void add_row(Row row) {
    bool& stands = stands_[{row.launch, row.id}];
    if (stands) return;
    stands = !may_be_repeated(row) && row.status != "unsupported";
    open_.push_back(record_.rows.size());
    record_.rows.push_back({std::move(row), last_bracket_});
  }

  RunRecord record_;
  std::map<ProcessKey, std::int64_t> in_time_;  ///< rows that an abandoned process wrote in time
  std::map<ProcessKey, std::size_t> places_;    ///< indices into `processes`
  std::map<std::pair<std::int64_t, std::string>, bool> stands_;  ///< launch and id
  std::vector<std::size_t> last_bracket_;                        ///< of the session; empty: none
  std::vector<std::size_t> open_;                                ///< rows since then
};

}  // namespace

RunRecord make_record(const std::vector<json>& events) {
  Recorder recorder(events);
  for (const json& event : events) recorder.add(event);
  return recorder.take();
}

namespace {

/// Checks events as parts of a result document. A result file is made of them, so no event may pass
/// here that a reader of the result would refuse.
class EventCheck {
 public:
  explicit EventCheck(std::string file)
      : file_(std::move(file)),
        result_(make_result(make_header("of a journal", "", "", 1, format_utc_now()))) {
    result_["environments"].push_back({{"host", "unknown"},
                                       {"hardware", json::object()},
                                       {"software", json::object()},
                                       {"volatile", json::object()},
                                       {"hashes", {{"hardware", nullptr}, {"software", nullptr}}}});
  }

  void check(const json& event, std::size_t line) {
    line_ = line;
    refuse_first(find_schema_errors(event, "journal", ""), "", "");
    const std::string kind = read_kind(event);
    // The build of --against may be newer, and its rows may have more fields.
    if (kind == "launch") result_["schema"] = event.value("schema", result_schema);
    if (event.contains("environment"))
      check_at("/environments/0", event["environment"], "/environment");
    if (kind == "run" || kind == "resume") {
      const json before = result_["run"];
      json run = before;
      run.update(event);
      check_at("/run", run, "");
      result_["run"] = before;
      // Rows belong to the version of Assay that began the run.
      if (kind == "run") result_["run"]["statistics"] = RunHeader(event).statistics;
    }
    if (kind == "bracket") {
      check_at("/run/bracket/0", event, "");
      result_["run"].erase("bracket");
    }
    if (kind == "row") check_row_event(event["row"]);
  }

 private:
  /// `shown`: the pointer in the line.
  void check_at(const std::string& place, const json& value, const std::string& shown) {
    result_[json::json_pointer(place)] = value;
    refuse_first(find_schema_errors(result_, "result", ""), place, shown);
  }

  void check_row_event(const json& row) {
    check_at("/rows/0", row, "/row");
    try {
      check_row(row, 0, result_, "");
    } catch (const InputError& error) {
      refuse(error.what(), "/rows/0", "/row");
    }
    result_["rows"] = json::array();
  }

  void refuse_first(const std::vector<std::string>& errors, const std::string& place,
                    const std::string& instead) const {
    if (!errors.empty()) refuse(errors.front(), place, instead);
  }

  /// `what` begins with " at /POINTER"; the message has the pointer within the line.
  [[noreturn]] void refuse(std::string what, const std::string& place,
                           const std::string& instead) const {
    const std::string begin = " at " + place;
    if (!place.empty() && what.starts_with(begin)) what.replace(0, begin.size(), " at " + instead);
    throw InputError(
        fmt::format("{}: line {}{} Remove the line, or start the run anew.", file_, line_, what));
  }

  std::string file_;
  std::size_t line_ = 0;
  json result_;
};

}  // namespace

RunRecord read_run(const std::filesystem::path& journal) {
  const std::vector<json> events = read_journal(journal);
  EventCheck check(journal.string());
  for (std::size_t i = 0; i < events.size(); ++i) check.check(events[i], i + 1);
  return make_record(events);
}

namespace {

std::uintmax_t size_of_file(const std::filesystem::path& file) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(file, missing);
  return missing ? 0 : size;
}

}  // namespace

JournalFollower::JournalFollower(std::filesystem::path file)
    : file_(std::move(file)), offset_(size_of_file(file_)) {}

std::vector<json> JournalFollower::poll() {
  const std::uintmax_t size = size_of_file(file_);
  if (size <= offset_) return {};
  std::string text(size - offset_, '\0');
  std::ifstream stream(file_, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset_));
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  std::vector<json> events;
  std::size_t start = 0;
  for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    // An incomplete line, left by a process that died, is no event; read_journal judges the whole
    // file at the end.
    json event = journal_event(std::string_view(text).substr(start, end - start));
    if (!event.is_discarded()) events.push_back(std::move(event));
  }
  offset_ += start;
  return events;
}

}  // namespace assay
