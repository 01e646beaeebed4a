#pragma once
// Results for tests of the model: flat rows of a table as rows of result documents.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/model/document.hpp"
#include "analysis/model/frame.hpp"
#include "core/base/error.hpp"

namespace assay::test {

/// One result for each system, in the order of the rows. A flat row has system, launch, time,
/// published, perhaps id, status, host, benchmark, executed and problem (the descriptor); size and
/// flops go to the problem, the rest are parameters.
inline std::vector<NamedResult> results_of(const nlohmann::json& rows) {
  std::vector<NamedResult> results;
  std::size_t index = 0;
  for (const nlohmann::json& flat : rows) {
    const std::string system = flat.value("system", "here");
    NamedResult* mine = nullptr;
    for (NamedResult& named : results)
      if (named.name == system) mine = &named;
    if (mine == nullptr) {
      mine = &results.emplace_back();
      mine->name = mine->result.system = system;
      mine->result.run.id = "run of " + system;
      mine->result.environments.emplace_back().host = "host of " + system;
    }
    const std::string status = flat.value("status", "ok");
    nlohmann::json row = {{"id", flat.value("id", "row " + std::to_string(index++))},
                          {"names", nlohmann::json::array()},
                          {"benchmark", flat.value("benchmark", "test")},
                          {"problem", {{"descriptor", flat.value("problem", "shape")}}},
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
    for (const char* own :
         {"incomparable", "comparable_within", "rates", "executed", "device_state"})
      if (flat.contains(own)) row[own] = flat[own];
    for (const auto& [name, value] : flat.items()) {
      static const std::vector<std::string> known{
          "system",    "launch",   "time",         "published",         "id",
          "status",    "rates",    "incomparable", "comparable_within", "problem",
          "benchmark", "executed", "device_state"};
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      row[name == "size" || name == "flops" ? "problem" : "parameters"][name] = value;
    }
    mine->result.rows.push_back(row.get<Row>());
  }
  return results;
}

inline ModelDocument fit_rows(const nlohmann::json& rows, const std::string& formula,
                              ModelOptions options = {}) {
  options.formula = formula;
  std::vector<NamedResult> kept = results_of(rows);
  for (NamedResult& named : kept)
    for (Row& row : named.result.rows) keep_for_model(row, "", named.result);
  const ModelDocument document = make_model(results_of(rows), options);
  EXPECT_EQ(nlohmann::json(make_model(std::move(kept), options)), nlohmann::json(document))
      << "what the command keeps of rows";
  return document;
}

inline nlohmann::json model_of(const nlohmann::json& rows, const std::string& formula,
                               ModelOptions options = {}) {
  return fit_rows(rows, formula, std::move(options));
}

inline const nlohmann::json* coefficient_of(const nlohmann::json& document,
                                            const std::string& term) {
  for (const nlohmann::json& coefficient : document.at("coefficients"))
    if (coefficient.at("term") == term) return &coefficient;
  return nullptr;
}

/// time = 2 * size * (arch new: 1/4) * (workload svm: 3), with a deviation that the terms do not
/// explain.
inline nlohmann::json sample(double deviation = 0.01) {
  nlohmann::json rows = nlohmann::json::array();
  int i = 0;
  for (const char* arch : {"old", "new"})
    for (const char* workload : {"pca", "svm"})
      for (const double size : {1.0, 2.0, 4.0, 8.0}) {
        const double noise = deviation * ((i * 7) % 5 - 2);
        ++i;
        rows.push_back({{"system", std::string("machine ") + arch},
                        {"published", true},
                        {"architecture", arch},
                        {"workload", workload},
                        {"size", size},
                        {"time", 2 * size * (arch[0] == 'n' ? 0.25 : 1) *
                                     (workload[0] == 's' ? 3 : 1) * std::exp(noise)}});
      }
  return rows;
}

/// `launches` launches of each of two systems with three rows each; launches share an error.
inline nlohmann::json read_launch_info(int launches) {
  nlohmann::json rows = nlohmann::json::array();
  for (int s = 0; s < 2; ++s)
    for (int launch = 0; launch < launches; ++launch)
      for (int w = 0; w < 3; ++w)
        rows.push_back({{"system", s == 0 ? "base" : "new"},
                        {"id", "id " + std::to_string(w)},
                        {"launch", launch},
                        {"workload", std::string(1, static_cast<char>('a' + w))},
                        {"time", std::exp(0.3 * s + w + 0.05 * ((launch * 5 + s) % 7) +
                                          0.01 * ((launch * 3 + w * 2 + s) % 5))}});
  return rows;
}

inline std::string refusal(const nlohmann::json& rows, const std::string& formula,
                           ModelOptions options = {}) {
  try {
    model_of(rows, formula, std::move(options));
  } catch (const InputError& error) {
    return error.what();
  } catch (const NothingToModel& error) {
    return std::string("nothing: ") + error.what();
  }
  return "not refused";
}

inline void expect_says(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
}

inline double number(const nlohmann::json& document, const std::string& term,
                     const std::string& field) {
  const nlohmann::json* coefficient = coefficient_of(document, term);
  return coefficient == nullptr || !coefficient->at(field).is_number()
             ? NAN
             : coefficient->at(field).get<double>();
}

}  // namespace assay::test
