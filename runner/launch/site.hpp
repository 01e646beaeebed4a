#pragma once
// Sites as data: suites/sites/<name>.json names a system, its launcher, its accelerator, and the
// ceilings that it should reach.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/program/command.hpp"
#include "runner/supervision/plugin_probe.hpp"

namespace assay {

/// The most that one process can be expected to reach on a node's processors, or on one
/// accelerator.
struct SiteCeilings {
  std::string device = "cpu";
  double tolerance = 0.1;                       ///< as a fraction
  std::map<std::string, double> flops_per_s{};  ///< by precision
  std::optional<double> memory_bytes_per_s{};
};

struct Site {
  /// The placement of ranks on a node; 0 and "" if the site does not specify it.
  struct Placement {
    std::uint64_t ranks_per_node = 0, threads_per_rank = 0;
    std::string bind{};
  };
  struct Accelerator {
    std::string match{};  ///< text in the name of the device; "": the site has none
  };
  std::string name{}, system{}, description{}, launcher{};
  std::string queue{}, account{};    ///< of batch jobs; "": not given
  std::vector<std::string> setup{};  ///< shell commands before the run in a batch job
  Placement processes{};
  Accelerator accelerator{};
  std::optional<SiteCeilings> ceilings{};

  /// Loads a file, by its path or its name in suites/sites. InputError with the nearest name.
  static Site load(const std::string& name_or_file);
  static std::vector<std::string> names();
  /// `arguments`, completed by the site's launcher, ranks, threads and binding. The command line
  /// takes precedence over the site. If `suite_has_shapes`, the suite's process shapes take
  /// precedence, too. With --per-node no ranks are placed.
  Arguments apply(Arguments arguments, bool suite_has_shapes) const;
};

/// The site that --site names.
std::optional<Site> find_site(const Arguments& arguments);

/// The text about the GPU of a backend, or about its lack of one; "" if it drives only processors.
std::string said_of_devices(const PluginProbe& probe);

/// Why no backend of this process has a device whose name contains `match`, with the reason of each
/// backend. "" if one has.
std::string device_fault(const std::string& match);

}  // namespace assay
