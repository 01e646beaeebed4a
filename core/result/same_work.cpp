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

/// True if a parameter of the row describes the system. A row without it agrees with the other.
bool describes_system(const std::string& parameter, const Row& row) {
  if (!row.parameters.contains(parameter)) return true;
  if (!row.system_parameters) return describes_system_by_default(parameter);
  return std::find(row.system_parameters->begin(), row.system_parameters->end(), parameter) !=
         row.system_parameters->end();
}

/// True if a parameter may differ between rows of the same work, because it describes how or where
/// the work was done. All other parameters define the work, and so does a parameter that only one
/// of the rows counts as describing the system.
bool may_differ(const std::string& parameter, const Row& row, const Row& base) {
  return describes_system(parameter, row) && describes_system(parameter, base);
}

/// The default of a parameter: one rank on one node, buffers in cache, the whole problem, no
/// procurement, images read by the pipeline.
json find_default(const std::string& parameter) {
  if (parameter == "ranks" || parameter == "nodes" || parameter == "scale") return 1;
  if (parameter == "cache") return "hot";
  if (parameter == "conform") return "none";
  if (parameter == "reader") return "pipeline";
  return nullptr;
}

}  // namespace

json parameter(const Row& row, const std::string& name) {
  const auto its = row.parameters.find(name);
  const bool is_recorded = its != row.parameters.end() && (!its->second.is_null() || row.published);
  return is_recorded ? its->second : find_default(name);
}

namespace {

/// A procurement prescribes the problem, but not the machine: its figure of merit is for the whole
/// machine.
bool machine_may_differ(const Row& row, const Row& base) {
  const json conform = parameter(row, "conform");
  return conform != find_default("conform") && conform == parameter(base, "conform");
}

/// The number of ranks does not define the work if the problem is given as a whole (by its size)
/// and shared by the ranks, or if a source gives nodes instead of ranks.
bool ranks_may_differ(const Row& row, const Row& base) {
  return machine_may_differ(row, base) ||
         (row.problem.rest.contains("size") && base.problem.rest.contains("size")) ||
         parameter(row, "ranks").is_null() || parameter(base, "ranks").is_null();
}

}  // namespace

std::string within_list(const std::string& name) { return name.substr(name.find('/') + 1); }

namespace {

/// True if a list gives the row's problem the name that the other row uses.
bool is_named(const Row& row, const Row& base) {
  return std::any_of(row.names.begin(), row.names.end(), [&](const std::string& name) {
    return within_list(name) == base.problem.descriptor;
  });
}

}  // namespace

std::string describe_value(const json& value) {
  if (value.is_null()) return "not given";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<std::string> list_implied_parameters(const Row& row, const Row& base) {
  std::vector<std::string> names;
  if (!base.published || !is_named(row, base)) return names;
  for (const auto& [name, value] : row.parameters)
    if (!may_differ(name, row, base) && !base.parameters.contains(name) &&
        find_default(name).is_null() && !value.is_null())
      names.push_back(name);
  return names;
}

std::string difference(const Row& row, const Row& base) {
  const auto text = [](const std::string& name, const json& mine, const json& its) {
    return fmt::format("{} is {} here and {} there", name, describe_value(mine),
                       describe_value(its));
  };
  std::vector<std::string> names;
  for (const Row* side : {&row, &base})
    for (const auto& [name, value] : side->parameters)
      if (!may_differ(name, row, base) &&
          std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  const std::vector<std::string> left = list_implied_parameters(row, base);
  for (const std::string& name : names)
    if (parameter(row, name) != parameter(base, name) &&
        !(name == "ranks" && ranks_may_differ(row, base)) &&
        !(name == "nodes" && machine_may_differ(row, base)) &&
        std::find(left.begin(), left.end(), name) == left.end())
      return text(name, parameter(row, name), parameter(base, name));
  // Rates and efficiencies are comparable only if the work is counted in the same way and the
  // batches are equal.
  const auto shape = [](const Row& side, const char* key) {
    const auto extent = side.problem.rest.find(key);
    return extent == side.problem.rest.end() ? json() : *extent;
  };
  if (row.problem.flops && base.problem.flops && *row.problem.flops != *base.problem.flops)
    return text("the FLOP count", *row.problem.flops, *base.problem.flops);
  for (const auto& [key, name] : {std::pair{"size", "the size in bytes"},
                                  std::pair{"global_batch_size", "the global batch size"}})
    if (const json mine = shape(row, key), its = shape(base, key);
        mine.is_number() && its.is_number() && mine.get<double>() != its.get<double>())
      return text(name, mine, its);
  return "";
}

}  // namespace assay
