#include "core/result/run_result.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/base/json_fields.hpp"
#include "core/result/result.hpp"
#include "core/result/result_check.hpp"
#include "core/result/schema.hpp"

namespace assay {

using nlohmann::json;

static void visit_fields(SameAs<EnvironmentHashes> auto& hashes, auto& fields) {
  fields.nullable("hardware", hashes.hardware);
  fields.nullable("software", hashes.software);
  fields.rest(hashes.rest);
}

static void visit_fields(SameAs<ResultEnvironment> auto& environment, auto& fields) {
  fields.always("host", environment.host);
  fields.always("hardware", environment.hardware);
  fields.always("software", environment.software);
  fields.always("volatile", environment.volatile_before);
  fields.optional("volatile_after", environment.volatile_after);
  fields.always("hashes", environment.hashes);
  fields.optional("rank_hosts", environment.rank_hosts);
  fields.optional("rank_places", environment.rank_places);
  fields.rest(environment.rest);
}

std::string ResultEnvironment::key() const {
  const auto text = [](const std::string& hash) { return hash.empty() ? "null" : hash; };
  return text(hashes.hardware) + " " + text(hashes.software);
}

const ResultEnvironment& RunResult::environment(const Row& row) const {
  static const ResultEnvironment none;
  const auto index = static_cast<std::size_t>(row.environment);
  return row.environment >= 0 && index < environments.size() ? environments[index] : none;
}

void to_json(json& document, const ResultEnvironment& environment) {
  document = write_fields(environment);
}
void from_json(const json& document, ResultEnvironment& environment) {
  read_fields(document, environment);
}

void to_json(json& document, const RunResult& result) {
  document = {{"schema", result.schema},
              {"run", result.run},
              {"system", result.system_details},
              {"environments", result.environments},
              {"rows", result.rows}};
  document["system"]["name"] = result.system;
  document.update(result.rest);
}

void from_json(const json& document, RunResult& result) {
  document.at("schema").get_to(result.schema);
  document.at("run").get_to(result.run);
  result.system_details = document.at("system");
  result.system_details.at("name").get_to(result.system);
  result.system_details.erase("name");
  document.at("environments").get_to(result.environments);
  document.at("rows").get_to(result.rows);
  result.rest = nlohmann::json::object();
  for (const auto& [name, value] : document.items())
    if (name != "schema" && name != "run" && name != "system" && name != "environments" &&
        name != "rows")
      result.rest[name] = value;
}

/// The pointer to the part that does not have its type.
static std::string find_unreadable(const json& result) {
  const auto is_readable = [](const auto& read) {
    try {
      read();
      return true;
    } catch (const json::exception&) {
      return false;
    }
  };
  if (!is_readable([&] { result.at("run").get<RunHeader>(); })) return "/run";
  for (std::size_t i = 0; i < result.at("environments").size(); ++i)
    if (!is_readable([&] { result["environments"][i].get<ResultEnvironment>(); }))
      return fmt::format("/environments/{}", i);
  for (std::size_t i = 0; i < result.at("rows").size(); ++i)
    if (!is_readable([&] { result["rows"][i].get<Row>(); })) return fmt::format("/rows/{}", i);
  return "/";
}

RunResult read_result(const std::filesystem::path& file_or_folder, json* document) {
  std::error_code missing;
  const std::filesystem::path file = std::filesystem::is_directory(file_or_folder, missing)
                                         ? file_or_folder / "result.json"
                                         : file_or_folder;
  json result = read_checked(file, "result");
  check_run(result, file.string());
  RowsTogether together;
  std::size_t index = 0;
  for (const json& row : result["rows"]) {
    check_row(row, index, result, file.string());
    together.add(row, index++, file.string());
  }
  try {
    RunResult typed = result;
    if (document != nullptr) *document = std::move(result);
    return typed;
  } catch (const json::exception&) {  // the open parts of the schema may hold anything
    throw InputError(fmt::format(
        "{} at {}: found a field of another kind than others need, expected the kind that Assay "
        "writes. The file was changed by hand.",
        file.string(), find_unreadable(result)));
  }
}

}  // namespace assay
