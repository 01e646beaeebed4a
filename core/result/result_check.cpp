#include "core/result/result_check.hpp"

#include <fmt/format.h>

#include <vector>

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/result/layers.hpp"
#include "core/result/row_check.hpp"
#include "core/result/row_identity.hpp"
#include "core/result/schema.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// A document that holds nothing but `row`, so that the schema of results judges it.
json alone_in_a_result(const json& row) {
  json document = {{"schema", "assay-result/1"},
                   {"system", {{"name", "none"}}},
                   {"environments", json::array()},
                   {"rows", json::array({row})}};
  for (const char* field : {"suite", "command", "seed", "started", "finished"})
    document["run"][field] = nullptr;
  document["run"]["id"] = "none";
  return document;
}

}  // namespace

bool saves_operations(const std::string& algorithm) {
  return algorithm.starts_with("winograd") || algorithm.starts_with("fft");
}

void refuse_row(const std::string& file, std::size_t index, const std::string& what) {
  throw InputError(fmt::format("{} at /rows/{}{}", file, index, what));
}

void check_row(const json& row, std::size_t index, const json& result, const std::string& file) {
  const std::size_t environments = result.at("environments").size();
  const std::size_t environment = row.at("environment");
  if (environment >= environments)
    refuse_row(
        file, index,
        fmt::format("/environment: found {}, expected less than {} (the number of environments).",
                    environment, environments));
  if (row.value("published", false)) return;  // no samples, and an id of its own kind
  const std::string where = fmt::format("{} at /rows/{}", file, index);
  const json& run = result.at("run");
  if (row_form_of(run) > 1 && !row.contains("id_form"))
    throw InputError(where +
                     "/id_form: found nothing, expected how the id is made (/run/row_form).");
  check_identity(row, where);
  if (row.at("status") != "ok") return;
  check_allocator(row, result.at("environments").at(environment), where);
  const int statistics = statistics_of(run);
  check_numbers(row, where, statistics);
  check_ceiling(row, where, statistics, run.contains("bracket") ? &run["bracket"] : nullptr);
  std::size_t number = 0;
  for (const json& layer : row.value("layers", json::array())) {
    const json alone = layer_as_row(row, layer);
    const std::string place = fmt::format("{}/layers/{}", where, number++);
    check_ceiling(alone, place, statistics, nullptr);
  }
}

void RowsTogether::add(const json& row, std::size_t index, const std::string& file) {
  const std::lock_guard lock(guard_);
  if (!keys_.emplace(row["id"], row["environment"], row["launch"], row["attempt"]).second)
    refuse_row(
        file, index,
        fmt::format(
            ": found a second row of id {}, environment {}, launch {}, attempt {}, expected one.",
            row["id"].dump(), row["environment"].dump(), row["launch"].dump(),
            row["attempt"].dump()));
  const auto [first, fresh] = first_.try_emplace(row["id"].get<std::string>());
  if (fresh) first->second = {{"parameters", row.at("parameters")}};
  if (!fresh && !row.value("published", false))
    check_equal_parameters(row, first->second, fmt::format("{} at /rows/{}", file, index));
}

void check_row_alone(const json& row, const std::string& where, int statistics) {
  const std::vector<std::string> errors = schema_errors(alone_in_a_result(row), "result", "");
  if (!errors.empty()) {
    constexpr std::size_t most = 5;
    const std::string place = " at /rows/0";
    std::vector<std::string> said;
    for (const std::string& error : errors)
      if (said.size() < most)
        said.push_back(where + (error.starts_with(place) ? error.substr(place.size()) : error));
    throw InputError(join(said, "\n"));
  }
  if (row.value("published", false)) return;
  check_identity(row, where);
  if (row.at("status") == "ok") check_numbers(row, where, statistics);
}

int statistics_of(const json& run) { return run.value("statistics", 1); }

int row_form_of(const json& run) { return run.value("row_form", 1); }

}  // namespace assay
