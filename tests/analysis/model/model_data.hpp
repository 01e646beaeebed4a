#pragma once
// Results for tests of the model: flat rows of a table as rows of result documents.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/model/document.hpp"

namespace assay::test {

/// One result for each system, in the order of the rows. A flat row has system, launch, time,
/// published, perhaps id, status and host; size and flops go to the problem, the rest are
/// parameters.
inline std::vector<NamedResult> results_of(const nlohmann::json& rows) {
  std::vector<NamedResult> results;
  std::size_t index = 0;
  for (const nlohmann::json& flat : rows) {
    const std::string system = flat.value("system", "here");
    NamedResult* mine = nullptr;
    for (NamedResult& one : results)
      if (one.name == system) mine = &one;
    if (mine == nullptr) {
      results.push_back(
          {system,
           {{"run", {{"id", "run of " + system}}},
            {"system", {{"name", system}}},
            {"environments", nlohmann::json::array({{{"host", "host of " + system}}})},
            {"rows", nlohmann::json::array()}}});
      mine = &results.back();
    }
    const std::string status = flat.value("status", "ok");
    nlohmann::json row = {{"id", flat.value("id", "row " + std::to_string(index++))},
                          {"names", nlohmann::json::array()},
                          {"benchmark", "test"},
                          {"problem", {{"descriptor", "shape"}}},
                          {"environment", 0},
                          {"launch", flat.value("launch", 0)},
                          {"attempt", 0},
                          {"parameters", nlohmann::json::object()},
                          {"status", status},
                          {"reason", status == "ok" ? nlohmann::json() : nlohmann::json("why")},
                          {"time_s", nullptr},
                          {"rates", nlohmann::json::object()}};
    if (flat.contains("time")) row["time_s"] = {{"median", flat["time"]}};
    if (flat.value("published", false)) {
      row["published"] = true;
      row["citation"] = "a source";
    }
    for (const char* own : {"incomparable", "comparable_within", "rates"})
      if (flat.contains(own)) row[own] = flat[own];
    for (const auto& [name, value] : flat.items()) {
      static const std::vector<std::string> known{"system",    "launch",       "time",
                                                  "published", "id",           "status",
                                                  "rates",     "incomparable", "comparable_within"};
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      row[name == "size" || name == "flops" ? "problem" : "parameters"][name] = value;
    }
    mine->result["rows"].push_back(row);
  }
  return results;
}

inline nlohmann::json model_of(const nlohmann::json& rows, const std::string& formula,
                               ModelOptions options = {}) {
  options.formula = formula;
  return model_document(results_of(rows), options);
}

inline const nlohmann::json* coefficient_of(const nlohmann::json& document,
                                            const std::string& term) {
  for (const nlohmann::json& one : document.at("coefficients"))
    if (one.at("term") == term) return &one;
  return nullptr;
}

}  // namespace assay::test
