#include "core/result/same_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace assay {

using nlohmann::json;

namespace {

/// Parameters that describe the system in published rows, which do not list theirs
/// (`system_parameters`). Benchmarks declare theirs (Traits::of_system), so this list needs no
/// further name.
bool describes_system_by_default(const std::string& parameter) {
  static constexpr std::array how{"backend",
                                  "algorithm",
                                  "threads",
                                  "layout",
                                  "device",
                                  "blas",
                                  "transport",
                                  "architecture",
                                  "framework",
                                  "tuning",
                                  "smt",
                                  "system",
                                  "workload",
                                  "checkpoint",
                                  "allocator",
                                  "allreduce",
                                  "allreduce_transport"};
  return std::find(how.begin(), how.end(), parameter) != how.end();
}

/// Whether a parameter of the row describes the system. A row without it agrees with the other.
bool describes_system(const std::string& parameter, const json& row) {
  if (!row.at("parameters").contains(parameter)) return true;
  const auto names = row.find("system_parameters");
  if (names == row.end()) return describes_system_by_default(parameter);
  return std::any_of(names->begin(), names->end(), [&](const json& name) {
    return name.get_ref<const std::string&>() == parameter;
  });
}

/// Whether a parameter of either row may differ where both did the same work: it says how and where
/// they did it. All other parameters define the work; so does one of which the rows say different
/// things.
bool may_differ(const std::string& parameter, const json& row, const json& base) {
  return describes_system(parameter, row) && describes_system(parameter, base);
}

/// The value of a parameter that was not given: one rank on one node, buffers in cache, the whole
/// problem, for no procurement, images read by the pipeline.
json assumed(const std::string& parameter) {
  if (parameter == "ranks" || parameter == "nodes" || parameter == "scale") return 1;
  if (parameter == "cache") return "hot";
  if (parameter == "conform") return "none";
  if (parameter == "reader") return "pipeline";
  return nullptr;
}

}  // namespace

json parameter(const json& row, const std::string& name) {
  const json& all = row.at("parameters");
  if (all.contains(name) && (!all[name].is_null() || row.value("published", false)))
    return all[name];
  return assumed(name);
}

namespace {

/// A procurement prescribes the problem, and leaves the machine free: its figure of merit is of all
/// of it.
bool machine_may_differ(const json& row, const json& base) {
  const json conform = parameter(row, "conform");
  return conform != assumed("conform") && conform == parameter(base, "conform");
}

/// The number of ranks does not define the work where the problem is given as a whole (by its size)
/// and ranks share it, or where a source gives nodes instead of ranks.
bool ranks_may_differ(const json& row, const json& base) {
  return machine_may_differ(row, base) ||
         (row.at("problem").contains("size") && base.at("problem").contains("size")) ||
         parameter(row, "ranks").is_null() || parameter(base, "ranks").is_null();
}

}  // namespace

std::string within_list(const std::string& name) { return name.substr(name.find('/') + 1); }

namespace {

/// Whether a list gives the row's problem the name by which the other row knows it.
bool is_named(const json& row, const json& base) {
  const std::string descriptor = base.at("problem").at("descriptor");
  const json names = row.value("names", json::array());
  return std::any_of(names.begin(), names.end(), [&](const json& name) {
    return within_list(name.get<std::string>()) == descriptor;
  });
}

}  // namespace

std::string shown(const json& value) {
  if (value.is_null()) return "not given";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<std::string> left_to_the_name(const json& row, const json& base) {
  std::vector<std::string> names;
  if (!base.value("published", false) || !is_named(row, base)) return names;
  for (const auto& [name, value] : row.at("parameters").items())
    if (!may_differ(name, row, base) && !base.at("parameters").contains(name) &&
        assumed(name).is_null() && !value.is_null())
      names.push_back(name);
  return names;
}

std::string difference(const json& row, const json& base) {
  const auto text = [](const std::string& name, const json& mine, const json& its) {
    return fmt::format("{} is {} here and {} there", name, shown(mine), shown(its));
  };
  std::vector<std::string> names;
  for (const json* side : {&row, &base})
    for (const auto& [name, value] : (*side)["parameters"].items())
      if (!may_differ(name, row, base) &&
          std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  const std::vector<std::string> left = left_to_the_name(row, base);
  for (const std::string& name : names)
    if (parameter(row, name) != parameter(base, name) &&
        !(name == "ranks" && ranks_may_differ(row, base)) &&
        !(name == "nodes" && machine_may_differ(row, base)) &&
        std::find(left.begin(), left.end(), name) == left.end())
      return text(name, parameter(row, name), parameter(base, name));
  // Rates and efficiencies are comparable only where the work is counted alike and the batches are
  // equal.
  for (const auto& [key, name] :
       {std::pair{"flops", "the FLOP count"}, std::pair{"size", "the size in bytes"},
        std::pair{"global_batch_size", "the global batch size"}}) {
    const json none, mine = row.at("problem").value(key, none),
                     its = base.at("problem").value(key, none);
    if (mine.is_number() && its.is_number() && mine.get<double>() != its.get<double>())
      return text(name, mine, its);
  }
  return "";
}

}  // namespace assay
