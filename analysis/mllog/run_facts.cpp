#include "analysis/mllog/run_facts.hpp"

#include <cmath>
#include <limits>
#include <string_view>

#include "core/base/numbers.hpp"
#include "core/base/text.hpp"

namespace assay::mllog {

Schedule schedule_of(const std::string& text) {
  const std::vector<std::string> fields = split(text, ':');
  Schedule schedule{fields.empty() ? "" : fields[0], 0, 0};
  if (fields.size() > 1) schedule.power = parse_number(fields[1]).value_or(0);
  if (fields.size() > 2) schedule.end = parse_number(fields[2]).value_or(0);
  return schedule;
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

double number(const Epoch& epoch, const char* name, double otherwise) {
  const auto place = epoch.find(name);
  return place == epoch.end() ? otherwise : place->second;
}

std::optional<double> RunFacts::number(const char* parameter) const {
  return parse_number(text(parameter));
}

std::int64_t RunFacts::count(const char* parameter, std::int64_t otherwise) const {
  const std::optional<double> number = row_.number(parameter);
  return number ? std::llround(*number) : otherwise;
}

double RunFacts::executed(const char* name) const {
  const nlohmann::json value =
      row_.executed ? row_.executed->rest.value(name, nlohmann::json()) : nlohmann::json();
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::int64_t RunFacts::global_batch() const {
  return std::llround(row_.problem.number("global_batch_size").value());
}

// As models/network/schedule.hpp scales it.
double RunFacts::base_rate() const {
  if (text("scaling") == "none") return number("rate").value_or(0);
  return number("rate").value_or(0) * static_cast<double>(global_batch()) / 256;
}

std::optional<double> RunFacts::before_training() const {
  const auto seconds = row_.setup_s.find("before_training");
  return seconds == row_.setup_s.end() ? std::nullopt : seconds->second;
}

double RunFacts::started() const {
  return mllog::number(row_.epochs.front(), "started_unix_s", 0) - before_training().value_or(0);
}

}  // namespace assay::mllog
