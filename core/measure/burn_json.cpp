#include "core/base/json_fields.hpp"
#include "core/measure/burn.hpp"

namespace assay {

using nlohmann::json;

static void visit_fields(SameAs<Burn::Kind> auto& kind, auto& fields) {
  fields.always("name", kind.name, "exact", kind.exact, "seconds", kind.seconds);
  fields.count("runs", kind.runs, "poisoned", kind.poisoned, "faulty", kind.faulty, "undecided",
               kind.undecided);
  fields.nullable("excluded", kind.excluded);
}

static void visit_fields(SameAs<Burn::Window> auto& window, auto& fields) {
  fields.always("unix_s", window.unix_s, "seconds", window.seconds);
  fields.count("runs", window.runs);
}

static void visit_fields(SameAs<BurnFault> auto& fault, auto& fields) {
  fields.always("unix_s", fault.unix_s, "rank", fault.rank, "host", fault.host, "data", fault.data);
  fields.count("elements", fault.elements);
  fields.nullable("place", fault.place, "expected", fault.expected, "found", fault.actual,
                  "differing_bits", fault.differing_bits, "device", fault.device, "processors",
                  fault.processors, "temperature_celsius", fault.temperature_celsius, "clock_hz",
                  fault.clock_hz, "remark", fault.remark);
}

static void visit_fields(SameAs<Burn> auto& burn, auto& fields) {
  fields.always("started_unix_s", burn.started_unix_s, "device", burn.device, "places", burn.places,
                "wall_s", burn.wall_s, "seconds", burn.seconds, "check_s", burn.check_s, "data",
                burn.data, "windows", burn.windows, "faults", burn.faults, "power_w", burn.power_w,
                "device_hours", burn.device_hours);
  fields.count("runs", burn.runs, "poisoned", burn.poisoned, "faulty", burn.faulty, "undecided",
               burn.undecided);
  fields.nullable("faults_per_device_hour", burn.faults_per_device_hour, "limit_per_device_hour",
                  burn.limit_per_device_hour);
}

void to_json(json& document, const BurnFault& fault) { document = write_fields(fault); }
void from_json(const json& document, BurnFault& fault) { read_fields(document, fault); }
void to_json(json& document, const Burn& burn) { document = write_fields(burn); }
void from_json(const json& document, Burn& burn) { read_fields(document, burn); }

}  // namespace assay
