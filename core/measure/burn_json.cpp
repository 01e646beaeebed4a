#include <nlohmann/json.hpp>

#include "core/base/or_null.hpp"
#include "core/measure/burn.hpp"

namespace assay {

using nlohmann::json;

namespace {

std::int64_t whole(double count) { return static_cast<std::int64_t>(count); }

void read(const json& value, std::string& text) {
  text = value.is_null() ? "" : value.get<std::string>();
}
void read(const json& value, std::optional<double>& number) {
  if (!value.is_null()) number = value.get<double>();
}

}  // namespace

static void to_json(json& document, const Burn::Kind& kind) {
  document = {{"name", kind.name},
              {"exact", kind.exact},
              {"runs", whole(kind.runs)},
              {"poisoned", whole(kind.poisoned)},
              {"seconds", kind.seconds},
              {"faulty", whole(kind.faulty)},
              {"undecided", whole(kind.undecided)},
              {"excluded", or_null(kind.excluded)}};
}
static void from_json(const json& document, Burn::Kind& kind) {
  document.at("name").get_to(kind.name);
  document.at("exact").get_to(kind.exact);
  document.at("runs").get_to(kind.runs);
  document.at("poisoned").get_to(kind.poisoned);
  document.at("seconds").get_to(kind.seconds);
  document.at("faulty").get_to(kind.faulty);
  document.at("undecided").get_to(kind.undecided);
  read(document.at("excluded"), kind.excluded);
}

static void to_json(json& document, const Burn::Window& window) {
  document = {{"unix_s", window.unix_s}, {"seconds", window.seconds}, {"runs", whole(window.runs)}};
}
static void from_json(const json& document, Burn::Window& window) {
  document.at("unix_s").get_to(window.unix_s);
  document.at("seconds").get_to(window.seconds);
  document.at("runs").get_to(window.runs);
}

void to_json(json& document, const BurnFault& fault) {
  document = {{"unix_s", fault.unix_s},
              {"rank", fault.rank},
              {"host", fault.host},
              {"data", fault.data},
              {"place", or_null(fault.place)},
              {"expected", or_null(fault.expected)},
              {"found", or_null(fault.actual)},
              {"differing_bits", or_null(fault.differing_bits)},
              {"elements", whole(fault.elements)},
              {"device", or_null(fault.device)},
              {"processors", or_null(fault.processors)},
              {"temperature_celsius", or_null(fault.temperature_celsius)},
              {"clock_hz", or_null(fault.clock_hz)},
              {"remark", or_null(fault.remark)}};
}
void from_json(const json& document, BurnFault& fault) {
  document.at("unix_s").get_to(fault.unix_s);
  document.at("rank").get_to(fault.rank);
  document.at("host").get_to(fault.host);
  document.at("data").get_to(fault.data);
  read(document.at("place"), fault.place);
  read(document.at("expected"), fault.expected);
  read(document.at("found"), fault.actual);
  read(document.at("differing_bits"), fault.differing_bits);
  document.at("elements").get_to(fault.elements);
  read(document.at("device"), fault.device);
  read(document.at("processors"), fault.processors);
  read(document.at("temperature_celsius"), fault.temperature_celsius);
  read(document.at("clock_hz"), fault.clock_hz);
  read(document.at("remark"), fault.remark);
}

void to_json(json& document, const Burn& burn) {
  const bool known_rate = burn.device_hours > 0;
  document = {{"started_unix_s", burn.started_unix_s},
              {"device", burn.device},
              {"places", burn.places},
              {"wall_s", burn.wall_s},
              {"seconds", burn.seconds},
              {"check_s", burn.check_s},
              {"runs", whole(burn.runs)},
              {"poisoned", whole(burn.poisoned)},
              {"faulty", whole(burn.faulty)},
              {"undecided", whole(burn.undecided)},
              {"data", burn.data},
              {"windows", burn.windows},
              {"faults", burn.faults},
              {"power_w", burn.power_w},
              {"device_hours", burn.device_hours},
              {"faults_per_device_hour", known_rate ? json(burn.faults_per_device_hour) : json()},
              {"limit_per_device_hour", known_rate ? json(burn.limit_per_device_hour) : json()}};
}
void from_json(const json& document, Burn& burn) {
  document.at("started_unix_s").get_to(burn.started_unix_s);
  document.at("device").get_to(burn.device);
  document.at("places").get_to(burn.places);
  document.at("wall_s").get_to(burn.wall_s);
  document.at("seconds").get_to(burn.seconds);
  document.at("check_s").get_to(burn.check_s);
  document.at("runs").get_to(burn.runs);
  document.at("poisoned").get_to(burn.poisoned);
  document.at("faulty").get_to(burn.faulty);
  document.at("undecided").get_to(burn.undecided);
  document.at("data").get_to(burn.data);
  document.at("windows").get_to(burn.windows);
  document.at("faults").get_to(burn.faults);
  document.at("power_w").get_to(burn.power_w);
  document.at("device_hours").get_to(burn.device_hours);
  if (!(burn.device_hours > 0)) return;
  document.at("faults_per_device_hour").get_to(burn.faults_per_device_hour);
  document.at("limit_per_device_hour").get_to(burn.limit_per_device_hour);
}

}  // namespace assay
