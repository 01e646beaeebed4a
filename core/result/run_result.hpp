#pragma once
// A result file ("assay-result/1") as a type: its head, environments and rows.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result/row.hpp"
#include "core/result/run_header.hpp"

namespace assay {

/// A version that adds fields raises the minor number ("assay-result/1.1").
inline constexpr const char* result_schema = "assay-result/1";

/// Hashes of an environment; "" if unknown.
struct EnvironmentHashes {
  std::string hardware{}, software{};
  nlohmann::json rest = nlohmann::json::object();
  bool operator==(const EnvironmentHashes&) const = default;
};

/// An entry of "environments". `hardware`, `software` and `volatile` are free trees.
struct ResultEnvironment {
  std::string host{};
  nlohmann::json hardware{}, software{}, volatile_before{}, volatile_after{};
  EnvironmentHashes hashes{};
  std::vector<std::string> rank_hosts{};
  std::vector<nlohmann::json> rank_places{};
  nlohmann::json rest = nlohmann::json::object();

  /// Rows of one id are launches of the same case only if their keys are equal; other rows are
  /// never summarized together.
  std::string key() const;
};

struct RunResult {
  std::string schema = result_schema;  ///< of a later minor version in files that have more fields
  RunHeader run{};
  std::string system{};                                      ///< its name
  nlohmann::json system_details = nlohmann::json::object();  ///< further fields ("description")
  std::vector<ResultEnvironment> environments{};
  std::vector<Row> rows{};
  nlohmann::json rest = nlohmann::json::object();

  /// The environment of a row; an empty one if the row has none.
  const ResultEnvironment& environment(const Row& row) const;
};

void to_json(nlohmann::json& json, const ResultEnvironment& environment);
void from_json(const nlohmann::json& json, ResultEnvironment& environment);
void to_json(nlohmann::json& json, const RunResult& result);
/// json::exception for a field of another type: files are checked before.
void from_json(const nlohmann::json& json, RunResult& result);

/// Reads and checks a result file: schema and its version, unique (id, environment, launch,
/// attempt), finite times that are not negative, and numbers that follow from each other
/// (core/result/result_check.hpp). A folder stands for its result.json. InputError if a check
/// fails. `document`: set to the content of the file.
RunResult read_result(const std::filesystem::path& file, nlohmann::json* document = nullptr);

}  // namespace assay
