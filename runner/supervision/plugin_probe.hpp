#pragma once
// Opens a plugin in a child process, so that a plugin that aborts or hangs at its start affects
// only its own line of `assay list`.

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "core/program/plugins.hpp"

namespace assay {

/// Longest time that a plugin may take to start.
inline constexpr std::chrono::seconds plugin_start_limit{10};

struct PluginProbe {
  PluginStatus status;
  nlohmann::json software = nlohmann::json::object();  ///< versions, if it is available
};

/// Opens the plugin in a child process, which is killed after `limit`. The output of the plugin is
/// discarded.
PluginProbe probe_plugin(Plugins& plugins, const std::string& name,
                         std::chrono::milliseconds limit = plugin_start_limit);

}  // namespace assay
