#pragma once
// Sites as data: suites/sites/<name>.json names a system, its launcher, its accelerator, and the
// ceilings that it should reach.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/program/command.hpp"

namespace assay {

class Site {
 public:
  /// A file, or the name of one in suites/sites. InputError with the nearest name.
  static Site load(const std::string& name_or_file);
  static std::vector<std::string> names();

  const nlohmann::json& document() const { return document_; }
  std::string system() const { return document_.at("system"); }
  /// `given` with what the site says of launcher, ranks, threads and binding, and (of batch jobs)
  /// queue, account; the command line stands before it. `suite_has_shapes`: its shapes stand, too.
  Given applied(Given given, bool suite_has_shapes) const;

 private:
  explicit Site(nlohmann::json document) : document_(std::move(document)) {}
  nlohmann::json document_;
};

/// Why no backend of this process reaches a device whose name has `match`: what each says. "" where
/// one does.
std::string device_fault(const std::string& match);

/// A line for each ceiling that a site promises: measured in `result` (run.bracket), or not; and
/// slower where one is below what the site's tolerance allows.
struct CeilingVerdict {
  std::string text;
  ExitCode code = ExitCode::ok;
};
CeilingVerdict compare_ceilings(const nlohmann::json& site, const nlohmann::json& result);

}  // namespace assay
