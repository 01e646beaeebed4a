#include "analysis/parts.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/base/error.hpp"
#include "core/base/json_fields.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// An entry of "gathered": a run, and the numbers of its environments and brackets.
struct GatheredRun {
  std::vector<std::string> hosts{};
  std::size_t environments = 0, brackets = 0;
  json own_fields{};                    ///< of its header
  json own_of_result = json::object();  ///< of the top of its file, with "system"
};
void visit_fields(GatheredRun& run, FieldReader& fields) {
  fields.always("hosts", run.hosts, "environments", run.environments, "brackets", run.brackets);
  fields.always("of_run", run.own_fields);
  fields.optional("of_result", run.own_of_result);
}

void refuse_counts(const std::string& file, const char* items, std::size_t count,
                   std::size_t expected) {
  if (count != expected)
    throw InputError(
        fmt::format("{} at /run/gathered: found {} {} in all, expected {} (those of the file). "
                    "Gather the results again.",
                    file, count, items, expected));
}

}  // namespace

void add_parts(NamedResult named, Results& results) {
  RunResult& whole = named.result;
  const auto field = whole.run.rest.find("gathered");
  if (field == whole.run.rest.end()) {
    results.push_back(std::move(named));
    return;
  }
  std::vector<GatheredRun> gathered;
  fields::Form<std::vector<GatheredRun>>::read(*field, gathered);
  std::vector<json> brackets = std::move(whole.run.brackets);
  whole.run.brackets.clear();
  json run = whole.run;
  run.erase("gathered");
  struct GatheredPart {
    RunResult* result;
    std::size_t environment, bracket;  ///< first index of the part in the gathered result
  };
  std::vector<GatheredPart> parts;
  std::vector<std::size_t> part_by_environment;  // by environment
  std::size_t bracket = 0;
  results.reserve(results.size() + gathered.size());
  for (const GatheredRun& entry : gathered) {
    json own = run;
    own.update(entry.own_fields);
    run.erase("missing_nodes");  // once, because it concerns all of them
    const std::string host = entry.hosts.empty() ? "no host" : entry.hosts.front();
    NamedResult& part = results.emplace_back(
        NamedResult{fmt::format("{} ({})", named.name, host),
                    {.schema = whole.schema, .run = own, .system = whole.system}});
    part.result.system_details = entry.own_of_result.value("system", whole.system_details);
    part.result.rest = whole.rest;
    part.result.rest.update(entry.own_of_result);
    part.result.rest.erase("system");
    parts.push_back({&part.result, part_by_environment.size(), bracket});
    part_by_environment.insert(part_by_environment.end(), entry.environments, parts.size() - 1);
    for (const std::size_t end = bracket + entry.brackets; bracket < end; ++bracket)
      if (bracket < brackets.size())
        part.result.run.brackets.push_back(std::move(brackets[bracket]));
  }
  refuse_counts(named.name, "environments", part_by_environment.size(), whole.environments.size());
  refuse_counts(named.name, "brackets", bracket, brackets.size());
  for (std::size_t i = 0; i < part_by_environment.size(); ++i)
    parts[part_by_environment[i]].result->environments.push_back(std::move(whole.environments[i]));
  for (Row& row : whole.rows) {
    const GatheredPart& part =
        parts[part_by_environment[static_cast<std::size_t>(row.environment)]];
    row.environment -= static_cast<int>(part.environment);
    if (row.ceiling)
      for (int& place : row.ceiling->brackets) place -= static_cast<int>(part.bracket);
    part.result->rows.push_back(std::move(row));
  }
}

}  // namespace assay
