#pragma once
// Finds and opens the plugins of backends. A plugin that cannot be used gives a reason, not an
// error that ends the program.

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/backend.hpp"

namespace assay {

/// A plugin that was found, and whether it can be used.
struct PluginStatus {
  std::string name;  ///< "onednn", from libassay_onednn.so
  std::filesystem::path file;
  bool available = false;
  std::string reason;  ///< why it is unavailable: "libcudnn.so.9: cannot open shared object file…"
};

/// The plugins of a process. Each is opened at its first use, with RTLD_NOW | RTLD_LOCAL, and never
/// closed.
class Plugins {
 public:
  /// Finds plugins in the folders of ASSAY_PLUGIN_PATH (separated by colons), then in ../lib/assay
  /// relative to the executable's folder.
  Plugins();
  explicit Plugins(const std::vector<std::filesystem::path>& folders);
  /// The plugins that the programs in folder `executables` find.
  static Plugins of_programs(const std::filesystem::path& executables);
  Plugins(Plugins&&) noexcept;
  ~Plugins();

  /// Names of all plugins that were found, sorted. If several folders have a name, the first one
  /// counts.
  std::vector<std::string> names() const;
  /// The backend of a plugin; Unsupported if it cannot be used ("<name>: unavailable: …").
  Result<Backend*> open(const std::string& name);
  PluginStatus status(const std::string& name);

 private:
  struct Opened;
  std::map<std::string, std::filesystem::path> files_;
  std::map<std::string, std::unique_ptr<Opened>> opened_;
};

}  // namespace assay
