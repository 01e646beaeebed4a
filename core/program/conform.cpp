#include "core/program/conform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/paths.hpp"
#include "core/base/text.hpp"
#include "core/program/suite.hpp"
#include "core/result/schema.hpp"

namespace assay {

using nlohmann::json;

namespace {

constexpr const char* suffix = "-conform";

std::filesystem::path find_file(const std::string& procurement) {
  return data_folder("suites") / (procurement + suffix + ".json");
}

bool names_benchmark(const json& suite, const std::string& benchmark) {
  const std::vector<std::string> all = suite_benchmarks(suite);
  return std::find(all.begin(), all.end(), benchmark) != all.end();
}

/// The only group of a benchmark, whose keys have one value each.
json find_prescribed_group(const std::string& benchmark, const std::filesystem::path& file) {
  const json suite = read_suite(file);
  json only;
  std::size_t index = 0;
  for (const json& group : suite.at("cases")) {
    const std::string pointer = fmt::format("{} at /cases/{}", file.string(), index++);
    if (group.at("benchmark") != benchmark) continue;
    const bool several = std::any_of(group.begin(), group.end(), [](const json& value) {
      return value.is_array() && value.size() != 1;
    });
    if (several || !only.is_null())
      throw InputError(pointer +
                       ": a procurement prescribes one case of a benchmark. Give one value of "
                       "each dimension, once.");
    only = group;
  }
  return only;
}

/// The text of a value, which may be the only one of an array.
std::string to_text(const json& value) {
  const json& only = value.is_array() ? value.front() : value;
  return only.is_string() ? only.get<std::string>() : only.dump();
}

/// The chosen procurement; "" if there is none. InputError if it prescribes nothing for the
/// benchmark.
std::string choose_procurement(const std::string& benchmark,
                               const std::map<std::string, std::vector<std::string>>& chosen) {
  const auto entry = chosen.find("conform");
  if (entry == chosen.end() || entry->second == std::vector<std::string>{conform_none}) return "";
  if (entry->second.size() != 1)
    throw InputError("one procurement can be conformed to at a time. Give one.");
  const std::vector<std::string> known = procurements(benchmark);
  if (std::find(known.begin(), known.end(), entry->second.front()) == known.end())
    throw InputError(explain_unknown_name("procurement", entry->second.front(), known));
  return entry->second.front();
}

}  // namespace

std::vector<std::string> procurements(const std::string& benchmark) {
  std::vector<std::string> names;
  for (const std::string& name : list_json_names(data_folder("suites"))) {
    if (!name.ends_with(suffix)) continue;
    const std::string procurement = name.substr(0, name.size() - std::string(suffix).size());
    if (names_benchmark(read_suite(find_file(procurement)), benchmark))
      names.push_back(procurement);
  }
  return names;
}

std::vector<std::string> list_prescribed_baselines(
    const std::string& benchmark, const std::map<std::string, std::vector<std::string>>& chosen) {
  const std::string procurement = choose_procurement(benchmark, chosen);
  if (procurement.empty()) return {};
  const json suite = read_suite(find_file(procurement));
  return suite.value("baseline", std::vector<std::string>{});
}

std::string add_prescribed(const std::string& benchmark,
                           std::map<std::string, std::vector<std::string>>& chosen) {
  const std::string procurement = choose_procurement(benchmark, chosen);
  if (procurement.empty()) return "";
  const json group = find_prescribed_group(benchmark, find_file(procurement));
  for (const auto& [name, value] : group.items()) {
    if (is_about_group(name) || name == "conform") continue;
    const std::vector<std::string> only{to_text(value)};
    if (const auto [place, added] = chosen.try_emplace(name, only); place->second != only)
      throw InputError(
          fmt::format("{} {} does not conform to {}, which prescribes {}. Leave it out.", name,
                      join(place->second, ","), procurement, only.front()));
  }
  return group.value("note", "");
}

}  // namespace assay
