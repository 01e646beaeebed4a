#pragma once
// Finds and opens backend plugins. A plugin that cannot be used is one line of reason, never a
// crash.

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/backend.hpp"

namespace assay {

/// A plugin that was found: usable, or why not.
struct PluginStatus {
  std::string name;  ///< "onednn", from libassay_onednn.so
  std::filesystem::path file;
  bool available = false;
  std::string reason;  ///< "libcudnn.so.9: cannot open shared object file…"
};

/// All plugins of a process. Opened lazily with RTLD_NOW | RTLD_LOCAL, never closed.
class Plugins {
 public:
  /// Looks in each folder of ASSAY_PLUGIN_PATH (colons), then in ../lib/assay beside the
  /// executable's folder.
  Plugins();
  explicit Plugins(const std::vector<std::filesystem::path>& folders);
  ~Plugins();

  /// Names of all plugin files found, sorted; the first folder that has a name wins.
  std::vector<std::string> names() const;
  /// Opens the plugin on first use; Unsupported where it cannot be used ("<name>: unavailable: …").
  Result<Backend*> open(const std::string& name);
  PluginStatus status(const std::string& name);

 private:
  struct Opened;
  std::map<std::string, std::filesystem::path> files_;
  std::map<std::string, std::unique_ptr<Opened>> opened_;
};

}  // namespace assay
