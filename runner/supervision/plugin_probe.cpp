#include "runner/supervision/plugin_probe.hpp"

#include "core/base/json_fields.hpp"
#include "core/base/trial.hpp"

namespace assay {

/// The state of a plugin, as the child found it.
struct ProbeAnswer {
  std::string file{}, reason{};
  bool available = false;
  nlohmann::json software = nlohmann::json::object();
};
static void visit_fields(SameAs<ProbeAnswer> auto& answer, auto& fields) {
  fields.always("file", answer.file, "reason", answer.reason, "available", answer.available,
                "software", answer.software);
}

PluginProbe probe_plugin(Plugins& plugins, const std::string& name,
                         std::chrono::milliseconds limit) {
  const auto open = [&] {
    const PluginStatus status = plugins.status(name);
    ProbeAnswer answer{status.file.string(), status.reason, status.available};
    if (status.available) answer.software = std::get<Backend*>(plugins.open(name))->software();
    return write_fields(answer).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  const Trial trial = try_in_child(open, limit);
  if (!trial.answer) return {{name, {}, false, trial.reason}};
  ProbeAnswer answer;
  read_fields(nlohmann::json::parse(*trial.answer), answer);
  return {{name, answer.file, answer.available, answer.reason}, answer.software};
}

}  // namespace assay
