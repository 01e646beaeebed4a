#include "core/result/result_check.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/result/blame_check.hpp"
#include "core/result/burn_check.hpp"
#include "core/result/formula.hpp"
#include "core/result/layers.hpp"
#include "core/result/row_check.hpp"
#include "core/result/row_identity.hpp"

namespace assay {

using nlohmann::json;

bool saves_operations(const std::string& algorithm) {
  return algorithm.starts_with("winograd") || algorithm.starts_with("fft");
}

void refuse_row(const std::string& file, std::size_t index, const std::string& what) {
  throw InputError(fmt::format("{} at /rows/{}{}", file, index, what));
}

namespace {

/// The open parts of a schema may hold values of a wrong type, such as a number instead of a text.
template <class Check>
void of_right_kinds(const std::string& where, const Check& check) {
  try {
    check();
  } catch (const json::exception& error) {
    throw InputError(fmt::format(
        "{}: a field is not of the kind that others need ({}). The file was changed by hand.",
        where, error.what()));
  }
}

void check_fields(const json& row, std::size_t index, const json& result, const std::string& file) {
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
  check_identity(row, where);
  if (row.contains("burn")) check_burn(row, where);
  if (row.contains("blame")) check_blame(row, where);
  if (row.at("status") != "ok") return formula::check_formulas(row, where);
  check_allocator(row, result.at("environments").at(environment), where);
  const int statistics = read_statistics(run);
  check_numbers(row, where, statistics);
  check_ceiling(row, where, statistics, run.contains("bracket") ? &run["bracket"] : nullptr);
  if (!row.contains("layers")) return;
  const Row typed = row;
  for (std::size_t i = 0; i < typed.layers.size(); ++i)
    check_ceiling(make_row_of_layer(typed, typed.layers[i]), fmt::format("{}/layers/{}", where, i),
                  statistics, nullptr);
}

}  // namespace

void check_row(const json& row, std::size_t index, const json& result, const std::string& file) {
  of_right_kinds(fmt::format("{} at /rows/{}", file, index),
                 [&] { check_fields(row, index, result, file); });
}

void check_run(const json& result, const std::string& file) {
  const json brackets = result.at("run").value("bracket", json::array());
  for (std::size_t i = 0; i < brackets.size(); ++i) {
    const json& rows = brackets[i].at("rows");
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const std::string where = fmt::format("{} at /run/bracket/{}/rows/{}", file, i, k);
      of_right_kinds(where, [&] {
        check_identity(rows[k], where);
        if (rows[k].at("status") == "ok") check_bracket_row(rows[k], where);
      });
    }
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

int read_statistics(const json& run) { return run.value("statistics", 1); }

}  // namespace assay
