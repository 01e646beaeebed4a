#include "analysis/plugin_probe.hpp"

#include "core/base/trial.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Opens a plugin and tells the result as JSON.
std::string opened(Plugins& plugins, const std::string& name) {
  const PluginStatus status = plugins.status(name);
  json found = {{"file", status.file.string()},
                {"available", status.available},
                {"reason", status.reason},
                {"software", json::object()}};
  if (status.available) found["software"] = std::get<Backend*>(plugins.open(name))->software();
  return found.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

PluginProbe probe_plugin(Plugins& plugins, const std::string& name,
                         std::chrono::milliseconds limit) {
  const Trial trial = try_in_child([&] { return opened(plugins, name); }, limit);
  if (!trial.answer) return {{name, {}, false, trial.reason}};
  const json found = json::parse(*trial.answer);
  return {{name, found.at("file").get<std::string>(), found.at("available"), found.at("reason")},
          found.at("software")};
}

}  // namespace assay
