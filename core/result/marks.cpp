#include "core/result/marks.hpp"

#include <nlohmann/json.hpp>

#include "core/measure/device_watch.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// A reading of time_s; `otherwise` where it is unknown, or the file is older than the reading.
double reading(const json& row, const char* name, double otherwise) {
  const auto time = row.find("time_s");
  if (time == row.end() || !time->is_object()) return otherwise;
  const auto part = time->find(name);
  return part != time->end() && part->is_number() ? part->get<double>() : otherwise;
}

/// Whether something kept the only thread of a row from running. A team also waits rightfully, for
/// untimed serial work between samples; ranks wait for each other, a process for its accelerator,
/// and readers of files for their disk.
bool was_kept_from_running(const json& row) {
  if (reading(row, "own", 1) >= 1 - shared_above) return false;
  const json parameters = row.value("parameters", json::object());
  return parameters.contains("backend") && parameters.value("threads", json()) == 1 &&
         parameters.value("ranks", json(1)) == 1 &&
         parameters.value("device", json("cpu")) == "cpu" && !parameters.contains("page_cache") &&
         !parameters.contains("epochs");
}

/// A device that was held while its work was submitted does not wait for the processors; of several
/// ranks it may, for those that move data between them.
bool was_held(const json& row) {
  const auto time = row.find("time_s");
  return row.value("parameters", json::object()).value("ranks", json(1)) == 1 &&
         time != row.end() && time->is_object() && time->value("held", false);
}

}  // namespace

bool was_shared(const json& row) {
  if (was_held(row)) return false;
  if (reading(row, "stolen", 0) > shared_above || reading(row, "throttled", 0) > shared_above ||
      was_kept_from_running(row))
    return true;
  return reading(row, "waiting", 0) > shared_above && reading(row, "foreign", 1) > shared_above;
}

bool was_throttled(const json& row) {
  const auto state = row.find("device_state");
  return state != row.end() && throttled_part(*state) > shared_above;
}

bool was_disturbed(const json& row) { return was_shared(row) || was_throttled(row); }

bool was_oversubscribed(const json& row) {
  return reading(row, "waiting", 0) > shared_above && !was_shared(row) && !was_held(row);
}

const std::set<std::string>& mark_fields() {
  static const std::set<std::string> fields{"waiting",   "stolen", "foreign",
                                            "throttled", "own",    "held"};
  return fields;
}

std::string mark_of(const json& row) {
  if (was_shared(row)) return shared_mark;
  if (was_throttled(row)) return throttled_mark;
  return was_oversubscribed(row) ? oversubscribed_mark : "";
}

std::string mark_told(const json& side) {
  if (!side.is_object()) return "";
  if (side.value("shared", false)) return shared_mark;
  return side.value("throttled", false) ? throttled_mark : "";
}

std::string worse_mark(const std::string& a, const std::string& b) {
  for (const char* mark : {shared_mark, throttled_mark, oversubscribed_mark})
    if (a == mark || b == mark) return mark;
  return "";
}

const char* note_of(const std::string& mark) {
  return mark == shared_mark           ? shared_note
         : mark == throttled_mark      ? throttled_note
         : mark == oversubscribed_mark ? oversubscribed_note
                                       : "";
}

}  // namespace assay
