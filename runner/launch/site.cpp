#include "runner/launch/site.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/json_fields.hpp"
#include "core/base/paths.hpp"
#include "core/program/given.hpp"
#include "core/program/plugins.hpp"
#include "core/result/schema.hpp"
#include "runner/launch/launcher.hpp"

namespace assay {

namespace {

std::filesystem::path sites_folder() { return data_folder("suites") / "sites"; }

/// A text in an object; "" if it is missing.
std::string text_in(const nlohmann::json& object, const char* key) {
  const auto field = object.find(key);
  return field != object.end() && field->is_string() ? field->get<std::string>() : "";
}

}  // namespace

void visit_fields(SameAs<Site::Placement> auto& placement, auto& fields) {
  fields.optional("ranks_per_node", placement.ranks_per_node, "threads_per_rank",
                  placement.threads_per_rank, "bind", placement.bind);
}
void visit_fields(SameAs<Site::Accelerator> auto& accelerator, auto& fields) {
  fields.always("match", accelerator.match);
}
void visit_fields(SameAs<SiteCeilings> auto& ceilings, auto& fields) {
  fields.optional("device", ceilings.device, "tolerance", ceilings.tolerance, "flops_per_s",
                  ceilings.flops_per_s, "memory_bytes_per_s", ceilings.memory_bytes_per_s);
}
void visit_fields(SameAs<Site> auto& site, auto& fields) {
  fields.always("name", site.name, "system", site.system, "description", site.description,
                "launcher", site.launcher);
  fields.optional("queue", site.queue, "account", site.account, "setup", site.setup, "processes",
                  site.processes, "accelerator", site.accelerator, "ceilings", site.ceilings);
}

std::vector<std::string> Site::names() { return list_json_names(sites_folder()); }

Site Site::load(const std::string& name_or_file) {
  Site site;
  read_fields(read_checked(find_named_file("site", name_or_file, sites_folder()), "site"), site);
  return site;
}

Arguments Site::apply(Arguments arguments, bool suite_has_shapes) const {
  const auto set = [&](const char* flag, const std::string& value) {
    if (!value.empty() && !arguments.contains(flag)) arguments[flag] = {value};
  };
  set("launcher", launcher);
  if (arguments.contains("per-node") || arguments.contains("ensemble")) return arguments;
  // A placement assigns processes to nodes; a plain number of ranks leaves it open. A pair has two
  // nodes.
  const bool on_nodes = arguments.contains("nodes") || arguments.contains("pairs");
  if (!arguments.contains("ranks") && on_nodes && !suite_has_shapes)
    set("ranks-per-node", number_or_none(processes.ranks_per_node));
  if (suite_has_shapes || arguments.contains("ranks-per-node")) {
    set("threads-per-rank", number_or_none(processes.threads_per_rank));
    set("bind", processes.bind);
  }
  return arguments;
}

std::optional<Site> find_site(const Arguments& arguments) {
  const auto name = read_value(arguments, "site");
  return name ? std::optional(Site::load(*name)) : std::nullopt;
}

std::string said_of_devices(const PluginProbe& probe) {
  const std::string device = text_in(probe.software, "gpu");
  if (!device.empty()) return "its device is " + device;
  if (probe.status.name == "cuda")
    return probe.status.available ? "it reports no device" : probe.status.reason;
  const std::string runtime = text_in(probe.software, "gpu_runtime");
  if (runtime.empty()) return "";
  return (runtime == "none" ? "its library was built without a GPU runtime (SYCL or OpenCL), and "
                            : "its library uses GPUs by " + runtime + ", but ") +
         "this backend does not report which device it uses";
}

std::string device_fault(const std::string& match) {
  Plugins plugins;
  std::string said;
  for (const std::string& name : plugins.names()) {
    const PluginProbe probe = probe_plugin(plugins, name);
    if (text_in(probe.software, "gpu").find(match) != std::string::npos) return "";
    if (const std::string more = said_of_devices(probe); !more.empty())
      said += fmt::format("; {}: {}", name, more);
  }
  return fmt::format("no backend has a device \"{}\"{}", match, said);
}

}  // namespace assay
