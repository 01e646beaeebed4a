#pragma once
// Sites as data: suites/sites/<name>.json names a system, its launcher, its accelerator, and the
// ceilings that it is expected to reach.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/plugin_probe.hpp"
#include "core/base/error.hpp"
#include "core/program/command.hpp"

namespace assay {

class Site {
 public:
  /// Loads a file, by its path or its name in suites/sites. InputError with the nearest name.
  static Site load(const std::string& name_or_file);
  static std::vector<std::string> names();

  const nlohmann::json& document() const { return document_; }
  std::string system() const { return document_.at("system"); }
  /// `given`, completed by the site's launcher, ranks, threads and binding, and (for batch jobs)
  /// queue and account. The command line takes precedence over the site. `suite_has_shapes`: the
  /// suite's process shapes do, too. With --per-node no ranks are placed.
  Given applied(Given given, bool suite_has_shapes) const;

 private:
  explicit Site(nlohmann::json document) : document_(std::move(document)) {}
  nlohmann::json document_;
};

/// The document of the site that --site names; null without --site.
nlohmann::json site_document(const Given& given);

/// What a backend tells of its GPU, or of its lack of one; "" if it drives processors alone.
std::string said_of_devices(const PluginProbe& probe);

/// Why no backend of this process has a device whose name contains `match`: the reason of each
/// backend. "" if one has.
std::string device_fault(const std::string& match);

/// Compares the ceilings of a site file with those measured in `result` (run.bracket): a line for
/// each; the code is slower (4) if one is below the site's tolerance.
struct CeilingVerdict {
  std::string text;
  ExitCode code = ExitCode::ok;
};
CeilingVerdict compare_ceilings(const nlohmann::json& site, const nlohmann::json& result);

}  // namespace assay
