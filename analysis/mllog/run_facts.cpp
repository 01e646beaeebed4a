#include "analysis/mllog/run_facts.hpp"

#include <limits>
#include <string_view>

#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace assay::mllog {

using nlohmann::json;

Schedule schedule_of(const std::string& text) {
  const std::vector<std::string> fields = split(text, ':');
  Schedule found{fields.empty() ? "" : fields[0], 0, 0};
  if (fields.size() > 1) found.power = parse_number(fields[1]).value_or(0);
  if (fields.size() > 2) found.end = parse_number(fields[2]).value_or(0);
  return found;
}

std::optional<std::int64_t> images_of(const std::string& set) {
  for (const std::string kind : {"tfrecord:n", "folder:n"}) {
    if (!set.starts_with(kind)) continue;
    const std::size_t classes = set.find("c1000:", kind.size());
    if (classes == std::string::npos) continue;
    return parse_number<std::int64_t>(
        std::string_view(set).substr(kind.size(), classes - kind.size()));
  }
  return std::nullopt;
}

std::string RunFacts::text(const char* parameter) const {
  const json value = row_.at("parameters").value(parameter, json());
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::optional<double> RunFacts::number(const char* parameter) const {
  return parse_number(text(parameter));
}

std::int64_t RunFacts::count(const char* parameter, std::int64_t otherwise) const {
  return row_.at("parameters").value(parameter, otherwise);
}

double RunFacts::executed(const char* name) const {
  const json executed = row_.value("executed", json());
  const json value = executed.is_object() ? executed.value(name, json()) : json();
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::int64_t RunFacts::global_batch() const { return row_.at("problem").at("global_batch_size"); }

// As models/network/schedule.hpp scales it.
double RunFacts::base_rate() const {
  if (text("scaling") == "none") return number("rate").value_or(0);
  return number("rate").value_or(0) * static_cast<double>(global_batch()) / 256;
}

std::optional<double> RunFacts::before_training() const {
  const json seconds = row_.value("setup_s", json::object()).value("before_training", json());
  return seconds.is_number() ? std::optional(seconds.get<double>()) : std::nullopt;
}

double RunFacts::started() const {
  return row_.at("epochs").front().value("started_unix_s", 0.0) - before_training().value_or(0);
}

}  // namespace assay::mllog
