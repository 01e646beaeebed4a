#pragma once
// Sides of a comparison for its tests, from rows made in memory.

#include <gtest/gtest.h>

#include "analysis/compare/comparison.hpp"
#include "core/result/schema.hpp"
#include "tests/support/rows.hpp"

namespace assay::test {

using nlohmann::json;

inline constexpr int ok = 0, incorrect = 3, slower = 4, inconclusive = 5, incomparable = 6,
                     failed = 7, target_missed = 9;

/// Launches of one row, a little apart: 1, 1 ± spread, 1 ± 2 spread …
inline std::vector<json> launches(const std::string& problem, double seconds, int count,
                                  double spread = 0.001, const Settings& more = {}) {
  std::vector<json> rows;
  for (int i = 0; i < count; ++i) {
    Settings settings = more;
    settings["problem"] = problem;
    const double place = (i % 2 == 0 ? 1 : -1) * ((i + 1) / 2);
    rows.push_back(row("ok", seconds * (1 + spread * place), i, settings));
    rows.back()["names"] = {problem};
  }
  return rows;
}

inline json joined(std::vector<std::vector<json>> parts) {
  std::vector<json> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  json document = result(all);
  document["run"]["suite_hash"] = "s";
  document["run"]["finished"] = document["run"]["started"];
  document["environments"] = {
      {{"host", "h"},
       {"hardware", {{"processor", "p"}, {"cores", 8}}},
       {"software",
        {{"kernel", "k"}, {"libraries", {{"onednn", {{"version", "3.7"}}}, {"libc", "2.36"}}}}},
       {"volatile", json::object()},
       {"hashes", {{"hardware", "a"}, {"software", "b"}}}}};
  return document;
}

inline int next_run = 0;

inline Side side(json result, const std::string& vary = "nothing") {
  result["run"]["id"] = "run-" + std::to_string(next_run++);
  return Side("side", {{"", std::move(result)}}, vary);
}

struct TestRequest {
  std::string vary = "nothing";
  bool allow_mismatch = false;
  std::optional<double> tolerance{};
};

inline json compared(const Side& base, const Side& updated, const TestRequest& asked = {},
                     const Side* fresh_base = nullptr, const Side* fresh_new = nullptr) {
  CompareOptions options;
  options.command = "assay compare";
  options.vary = asked.vary;
  options.allow_mismatch = asked.allow_mismatch;
  options.tolerance = asked.tolerance;
  const json document = compare_sides(base, updated, fresh_base, fresh_new, options);
  EXPECT_EQ(json(document.get<Comparison>()), document) << "what a report reads";
  EXPECT_EQ(find_schema_errors(document, "comparison", "it"), std::vector<std::string>{});
  for (const bool markdown : {false, true})
    EXPECT_EQ(render_comparison(document, base, updated, markdown).find('\x1b'), std::string::npos);
  return document;
}

/// A side with what the command keeps of its rows.
inline Side kept_side(json result, const std::string& vary) {
  RunResult kept = std::move(result);
  for (Row& row : kept.rows) keep_for_comparison(row, "", kept);
  return side(kept, vary);
}

/// The output of a comparison of these results.
inline std::string rendered(const json& base, const json& updated, const TestRequest& asked = {},
                            bool markdown = false) {
  const Side was = side(base, asked.vary), is = side(updated, asked.vary);
  const Side kept_was = kept_side(base, asked.vary), kept_is = kept_side(updated, asked.vary);
  const json document = compared(was, is, asked);
  EXPECT_EQ(compared(kept_was, kept_is, asked), document) << "what the command keeps of rows";
  const std::string text = render_comparison(document, was, is, markdown);
  EXPECT_EQ(render_comparison(document, kept_was, kept_is, markdown), text);
  return text;
}

inline json compared(const json& base, const json& updated, const TestRequest& asked = {}) {
  rendered(base, updated, asked);
  return compared(side(base, asked.vary), side(updated, asked.vary), asked);
}

inline const json* row_of(const json& document, const std::string& part) {
  for (const json& row : document["rows"])
    if (row["id"].get<std::string>().find(part) != std::string::npos) return &row;
  return nullptr;
}

}  // namespace assay::test
