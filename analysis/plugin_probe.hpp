#pragma once
// A plugin tried in a process of its own: one that aborts or hangs while it starts costs its own
// line, not the list.

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "core/program/plugins.hpp"

namespace assay {

/// Longest time that a plugin may take to start.
inline constexpr std::chrono::seconds plugin_start_limit{10};

struct PluginProbe {
  PluginStatus status;
  nlohmann::json software = nlohmann::json::object();  ///< versions, where it is available
};

/// Opens the plugin in a child process and kills that after `limit`. What the plugin prints is
/// dropped.
PluginProbe probe_plugin(Plugins& plugins, const std::string& name,
                         std::chrono::milliseconds limit = plugin_start_limit);

}  // namespace assay
