#include "analysis/gather/parts.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Where the environments and brackets of a part begin in the gathered result.
struct Start {
  std::size_t environments = 0, brackets = 0;
};

json empty_part(const json& whole, const json& run, const json& part) {
  json made = {{"schema", whole.at("schema")},
               {"system", whole.at("system")},
               {"run", run},
               {"environments", json::array()},
               {"rows", json::array()}};
  made["run"].update(part.at("of_run"));
  return made;
}

void refuse_counts(const std::string& file, const char* what, std::size_t found,
                   std::size_t expected) {
  if (found != expected)
    throw InputError(
        fmt::format("{} at /run/gathered: found {} {} in all, expected {} (those of the file). "
                    "Gather the results again.",
                    file, found, what, expected));
}

}  // namespace

void shift_indices(json& row, std::int64_t environments, std::int64_t brackets) {
  row["environment"] = row["environment"].get<std::int64_t>() + environments;
  if (brackets == 0 || !row.contains("ceiling") || !row["ceiling"].is_object()) return;
  if (const auto places = row["ceiling"].find("brackets"); places != row["ceiling"].end())
    for (json& place : *places) place = place.get<std::int64_t>() + brackets;
}

void add_parts(NamedResult named, std::vector<NamedResult>& results) {
  json& whole = named.result;
  if (!whole["run"].contains("gathered")) {
    results.push_back(std::move(named));
    return;
  }
  json run = std::move(whole["run"]);
  const json gathered = std::move(run["gathered"]);
  json bracket = run.value("bracket", json::array());
  run.erase("gathered");
  run.erase("bracket");
  const std::size_t before = results.size();
  std::vector<Start> starts;
  std::vector<std::size_t> part_of;  // by environment
  std::size_t brackets = 0;
  for (const json& part : gathered) {
    const json& hosts = part.at("hosts");
    starts.push_back({part_of.size(), brackets});
    json made = empty_part(whole, run, part);
    run.erase("missing_nodes");  // once: it is about all of them
    part_of.insert(part_of.end(), part.at("environments").get<std::size_t>(), starts.size() - 1);
    const std::size_t end = brackets + part.at("brackets").get<std::size_t>();
    for (; brackets < end && brackets < bracket.size(); ++brackets)
      made["run"]["bracket"].push_back(std::move(bracket[brackets]));
    brackets = end;
    results.push_back({fmt::format("{} ({})", named.name,
                                   hosts.empty() ? "no host" : hosts[0].get<std::string>()),
                       std::move(made)});
  }
  json& environments = whole["environments"];
  refuse_counts(named.name, "environments", part_of.size(), environments.size());
  refuse_counts(named.name, "brackets", brackets, bracket.size());
  for (std::size_t i = 0; i < environments.size(); ++i)
    results[before + part_of[i]].result["environments"].push_back(std::move(environments[i]));
  for (json& row : whole["rows"]) {
    const std::size_t part = part_of[row.at("environment").get<std::size_t>()];
    shift_indices(row, -static_cast<std::int64_t>(starts[part].environments),
                  -static_cast<std::int64_t>(starts[part].brackets));
    results[before + part].result["rows"].push_back(std::move(row));
  }
}

}  // namespace assay
