#include "core/measure/case.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_map>

namespace assay {

void to_json(nlohmann::json& json, const ListShare& part) {
  json = {{"list", part.list}, {"whole", part.whole}, {"repeat", part.repeat}, {"of", part.total}};
}

void from_json(const nlohmann::json& json, ListShare& part) {
  part = {json.at("list"), json.at("whole"), json.at("repeat"), json.at("of")};
}

void to_json(nlohmann::json& json, const Case& benchmark_case) {
  json = {{"id", benchmark_case.id},
          {"id_form", benchmark_case.id_form},
          {"step_parameters", benchmark_case.step_parameters},
          {"names", benchmark_case.names},
          {"settings", benchmark_case.settings},
          {"one_per_process", benchmark_case.one_per_process},
          {"system_parameters", benchmark_case.system_parameters},
          {"required", benchmark_case.required},
          {"tolerance",
           benchmark_case.tolerance ? nlohmann::json(*benchmark_case.tolerance) : nlohmann::json()},
          {"part_of", benchmark_case.parts},
          {"working_sets", benchmark_case.working_sets}};
  if (!benchmark_case.note.empty()) json["note"] = benchmark_case.note;
}

void from_json(const nlohmann::json& json, Case& parsed) {
  using Texts = std::vector<std::string>;
  parsed = {.id = json.at("id"),
            .settings = json.at("settings"),
            .names = json.at("names"),
            .required = json.value("required", false),
            .parts = json.value("part_of", std::vector<ListShare>{}),
            .working_sets = json.value("working_sets", std::vector<double>{}),
            .note = json.value("note", ""),
            .id_form = json.value("id_form", ""),
            .step_parameters = json.value("step_parameters", Texts{}),
            // A build older than this field had no other such dimension.
            .one_per_process = json.value("one_per_process", Texts{"allocator"}),
            .system_parameters = json.value("system_parameters", Texts{})};
  if (json.contains("tolerance") && json.at("tolerance").is_number())
    parsed.tolerance = json.at("tolerance").get<double>();
}

Dimension make_dimension(std::string name, std::string help, std::vector<std::string> values,
                         std::vector<std::string> defaults, std::string prefix, std::string omit) {
  return {.name = std::move(name),
          .help = std::move(help),
          .values = std::move(values),
          .defaults = std::move(defaults),
          .prefix = std::move(prefix),
          .omit = std::move(omit)};
}

Dimension make_determined_dimension(std::string name, std::string prefix) {
  Dimension dimension = make_dimension(std::move(name), "", {}, {}, std::move(prefix));
  dimension.traits.determined = true;
  return dimension;
}

std::vector<std::string> Dimension::names() const {
  std::vector<std::string> all{name};
  std::copy_if(flags.begin(), flags.end(), std::back_inserter(all),
               [&](const std::string& other) { return other != name; });
  return all;
}

std::string make_id(const std::string& benchmark, const std::vector<Dimension>& dimensions,
                    const Settings& settings) {
  std::string id = benchmark, named;
  for (const Dimension& axis : dimensions) {
    if (!axis.field.empty()) continue;  // no axis of its own
    const auto entry = settings.find(axis.name);
    if (entry == settings.end())
      throw std::logic_error("no value for dimension " + axis.name + " of " + benchmark);
    if (!axis.traits.in_id) continue;
    if (axis.omit.empty())
      id += "/" + axis.prefix + entry->second;
    else if (entry->second != axis.omit)
      named += "/" + axis.name + "=" + entry->second;
  }
  return id + named;
}

std::string make_id_form(const std::string& benchmark, const std::vector<Dimension>& dimensions) {
  std::string form = benchmark, named;
  for (const Dimension& axis : dimensions) {
    if (!axis.field.empty()) continue;  // no axis of its own
    if (!axis.traits.in_id)
      named += "[/" + axis.name + "]";
    else if (axis.omit.empty())
      form += "/" + axis.prefix + "{" + axis.name + "}";
    else
      named += "[/" + axis.name + "=" + axis.omit + "]";
  }
  return form + named;
}

std::vector<std::string> system_parameters(const std::vector<Dimension>& dimensions) {
  std::vector<std::string> names;
  for (const Dimension& axis : dimensions)
    if (axis.traits.of_system) names.push_back(axis.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Case> merge_equal(std::vector<Case> cases) {
  std::vector<Case> merged;
  std::unordered_map<std::string, std::size_t> place;
  for (Case& benchmark_case : cases) {
    const auto [at, fresh] = place.emplace(benchmark_case.id, merged.size());
    if (fresh) {
      merged.push_back(std::move(benchmark_case));
      continue;
    }
    Case& first = merged[at->second];
    for (std::string& name : benchmark_case.names) {
      bool known = false;
      for (const std::string& other : first.names) known = known || other == name;
      if (!known) first.names.push_back(std::move(name));
    }
    // A list that is requested twice is still one whole: ListShare::repeat counts duplicates within
    // a list.
    for (ListShare& part : benchmark_case.parts)
      if (std::find(first.parts.begin(), first.parts.end(), part) == first.parts.end())
        first.parts.push_back(std::move(part));
    first.required = first.required || benchmark_case.required;
    // The smaller tolerance holds.
    if (benchmark_case.tolerance)
      first.tolerance =
          std::min(first.tolerance.value_or(*benchmark_case.tolerance), *benchmark_case.tolerance);
  }
  return merged;
}

}  // namespace assay
