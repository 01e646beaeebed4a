#include "runner/run/journal_check.hpp"

#include <fmt/format.h>

#include <string>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/result/result.hpp"
#include "core/result/result_check.hpp"
#include "core/result/schema.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// One event after the other takes its place in a result document, and is checked as a part of it:
/// what is made of a journal is a result file, so that nothing can pass here that a reader of the
/// result would refuse.
class EventCheck {
 public:
  explicit EventCheck(std::string file)
      : file_(std::move(file)),
        result_(make_result(make_header("of a journal", "", "", 1, utc_now()))) {
    result_["environments"].push_back({{"host", "unknown"},
                                       {"hardware", json::object()},
                                       {"software", json::object()},
                                       {"volatile", json::object()},
                                       {"hashes", {{"hardware", nullptr}, {"software", nullptr}}}});
  }

  void check(const json& event, std::size_t line) {
    line_ = line;
    refuse_first(schema_errors(event, "journal", ""), "", "");
    const std::string kind = event.at("event");
    if (event.contains("environment")) environment(event.at("environment"));
    if (kind == "run" || kind == "resume") run(event);
    if (kind == "bracket") bracket(event);
    if (kind == "row") row(event.at("row"));
  }

 private:
  void environment(const json& given) {
    result_["environments"][0] = given;
    refuse_first(schema_errors(result_, "result", ""), "/environments/0", "/environment");
  }

  void run(const json& event) {
    json before = result_["run"];
    result_["run"].update(event);
    refuse_first(schema_errors(result_, "result", ""), "/run", "");
    result_["run"] = std::move(before);
    if (event.at("event") != "run") return;
    // Rows are those of the version of Assay that began the run.
    result_["run"]["statistics"] = statistics_of(event);
  }

  void bracket(const json& event) {
    result_["run"]["bracket"] = json::array({event});
    refuse_first(schema_errors(result_, "result", ""), "/run/bracket/0", "");
    result_["run"].erase("bracket");
  }

  void row(const json& given) {
    json row = given;
    row["environment"] = 0;  // its own is found when the result is made
    result_["rows"] = json::array({std::move(row)});
    refuse_first(schema_errors(result_, "result", ""), "/rows/0", "/row");
    try {
      check_row(result_["rows"][0], 0, result_, "");
    } catch (const InputError& error) {
      refuse(error.what(), "/rows/0", "/row");
    }
    result_["rows"] = json::array();
  }

  void refuse_first(const std::vector<std::string>& errors, const std::string& place,
                    const std::string& instead) const {
    if (!errors.empty()) refuse(errors.front(), place, instead);
  }

  /// `what` begins with " at /POINTER": the pointer is told as it is in the line.
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

void check_events(const std::vector<json>& events, const std::filesystem::path& file) {
  EventCheck check(file.string());
  for (std::size_t i = 0; i < events.size(); ++i) check.check(events[i], i + 1);
}

}  // namespace assay
