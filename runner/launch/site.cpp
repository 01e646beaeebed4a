#include "runner/launch/site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/program/plugins.hpp"
#include "core/result/result.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

fs::path sites_folder() { return data_folder("suites") / "sites"; }

/// The best sample of the bracket's rows of a kernel, as done per second.
std::optional<double> best_rate(const json& result, const std::string& device, const char* kernel,
                                const std::string& precision, const char* amount) {
  std::optional<double> best;
  const json brackets = result.at("run").value("bracket", json::array());
  for (const json& bracket : brackets)
    for (const json& row : bracket.at("rows")) {
      const json& parameters = row.at("parameters");
      if (row.at("status") != "ok" || parameters.value("device", "cpu") != device ||
          parameters.value("precision", "") != precision ||
          !row.at("problem").at("descriptor").get<std::string>().starts_with(kernel))
        continue;
      const double rate =
          row.at("problem").at(amount).get<double>() / row.at("time_s").at("min").get<double>();
      best = std::max(best.value_or(0), rate);
    }
  return best;
}

}  // namespace

std::vector<std::string> Site::names() { return json_names(sites_folder()); }

Site Site::load(const std::string& name_or_file) {
  fs::path file = name_or_file;
  if (!name_or_file.ends_with(".json")) {
    const std::vector<std::string> known = names();
    if (std::find(known.begin(), known.end(), name_or_file) == known.end())
      throw InputError(unknown_name("site", name_or_file, known));
    file = sites_folder() / (name_or_file + ".json");
  }
  return Site(read_checked(file, "site"));
}

Given Site::applied(Given given, bool suite_has_shapes) const {
  const auto set = [&](const char* flag, const json& value) {
    if (value.is_null() || given.contains(flag)) return;
    given[flag] = {value.is_string() ? value.get<std::string>() : value.dump()};
  };
  set("launcher", document_.at("launcher"));
  if (given.contains("per-node")) return given;
  const json processes = document_.value("processes", json::object());
  // Placement is of processes on nodes: a plain number of ranks leaves it open. A pair has two.
  const bool on_nodes = given.contains("nodes") || given.contains("pairs");
  if (!given.contains("ranks") && on_nodes && !suite_has_shapes)
    set("ranks-per-node", processes.value("ranks_per_node", json()));
  if (suite_has_shapes || given.contains("ranks-per-node")) {
    set("threads-per-rank", processes.value("threads_per_rank", json()));
    set("bind", processes.value("bind", json()));
  }
  return given;
}

json site_document(const Given& given) {
  const auto name = given.find("site");
  return name == given.end() ? json() : Site::load(name->second.back()).document();
}

std::string said_of_devices(const PluginProbe& probe) {
  const json& software = probe.software;
  if (const json device = software.value("gpu", json()); device.is_string())
    return "its device is " + device.get<std::string>();
  if (probe.status.name == "cuda")
    return probe.status.available ? "it reports no device" : probe.status.reason;
  const json runtime = software.value("gpu_runtime", json());
  if (!runtime.is_string()) return "";
  return (runtime == "none" ? "its library was built without a GPU runtime (SYCL or OpenCL), and "
                            : "its library uses GPUs by " + runtime.get<std::string>() + ", but ") +
         "this backend does not report which device it uses";
}

std::string device_fault(const std::string& match) {
  Plugins plugins;
  std::string said;
  for (const std::string& name : plugins.names()) {
    const PluginProbe probe = probe_plugin(plugins, name);
    const json device = probe.software.value("gpu", json());
    if (device.is_string() && device.get<std::string>().find(match) != std::string::npos) return "";
    if (const std::string more = said_of_devices(probe); !more.empty())
      said += fmt::format("; {}: {}", name, more);
  }
  return fmt::format("no backend has a device \"{}\"{}", match, said);
}

CeilingVerdict compare_ceilings(const json& site, const json& result) {
  CeilingVerdict verdict;
  const json promised = site.value("ceilings", json::object());
  if (promised.empty()) return verdict;
  const std::string device = promised.value("device", "cpu");
  const double tolerance = promised.value("tolerance", 0.1);
  const auto compare = [&](const std::string& what, double expected, std::optional<double> measured,
                           const char* unit) {
    verdict.text += fmt::format("site {}: {}: ", site.at("name").get<std::string>(), what);
    if (!measured) {
      verdict.text += fmt::format("{} expected; this run measured none\n", human(expected, unit));
      return;
    }
    const bool low = *measured < (1 - tolerance) * expected;
    if (low) verdict.code = ExitCode::slower;
    verdict.text += fmt::format("{} of {} expected ({:.1f} %){}\n", human(*measured, unit),
                                human(expected, unit), 100 * *measured / expected,
                                low ? ": below the tolerance of the site" : "");
  };
  const json flops = promised.value("flops_per_s", json::object());
  for (const auto& [precision, expected] : flops.items())
    compare("peak of " + precision, expected,
            best_rate(result, device, device == "cpu" ? "fma" : "matmul", precision, "flops"),
            "FLOP/s");
  if (promised.contains("memory_bytes_per_s"))
    compare("memory", promised.at("memory_bytes_per_s"),
            best_rate(result, device, "triad", "fp64", "bytes"), "B/s");
  return verdict;
}

}  // namespace assay
