#pragma once
// Fleets and criteria for tests of `assay accept`.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/accept/acceptance.hpp"
#include "core/result/schema.hpp"
#include "tests/core/result_fixture.hpp"
#include "tests/support/rows.hpp"

namespace assay::test {

using nlohmann::json;

inline Criteria make_criteria(json document) {
  const fixture::Folder folder;
  document["schema"] = "assay-criteria/1";
  document["name"] = "test";
  if (!document.contains("nodes")) document["nodes"] = "seen";
  return read_criteria(folder.put("criteria.json", document.dump()));
}

inline const json five_percent = {{"relative", {{{"slower_at_most", 0.05}}}}};

inline std::string host(int number) { return fmt::format("n{:02}", number); }

/// One node's file: each row on that node.
inline NamedResult node(int number, std::vector<json> rows, json before = json::object(),
                        json after = nullptr, const std::string& hardware = "hw") {
  json document = result(std::move(rows));
  document["run"]["id"] = host(number);
  json environment = {{"host", host(number)},
                      {"hardware", {{"sockets", hardware}, {"cores", 8}}},
                      {"software", json::object()},
                      {"volatile", std::move(before)},
                      {"hashes", {{"hardware", hardware}, {"software", "sw"}}}};
  if (!after.is_null()) environment["volatile_after"] = std::move(after);
  document["environments"] = {environment};
  return {host(number), document};
}

inline json judge(const std::vector<NamedResult>& results, const json& criteria,
                  const PairsOfRuns& pairs = {}) {
  const Criteria rules = make_criteria(criteria);
  const json document = judge_fleet(make_fleet(results, rules, {}, pairs), rules, "assay accept");
  EXPECT_EQ(find_schema_errors(document, "acceptance", "document"), std::vector<std::string>{});
  EXPECT_EQ(json(document.get<Acceptance>()), document) << "reading it loses nothing";
  return document;
}

inline const json& find_node(const json& document, int number) {
  for (const json& node : document["nodes"])
    if (node["node"] == host(number)) return node;
  throw std::runtime_error("no such node");
}

inline std::vector<NamedResult> healthy(int nodes) {
  std::vector<NamedResult> results;
  for (int i = 0; i < nodes; ++i)
    results.push_back(node(i, {row("ok", 1 + 0.001 * (i % 5), 0, {{"threads", "2"}}),
                               row("ok", 2 - 0.001 * (i % 3), 0, {{"threads", "4"}})}));
  return results;
}

/// A rendered text without the line breaks of a terminal within its sentences.
inline std::string unwrapped(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos;) {
    const std::size_t word = text.find_first_not_of(' ', at + 1);
    if (word == std::string::npos || text[word] == '-' || text.compare(word, 6, "sha256") == 0)
      ++at;
    else
      text.replace(at, word - at, " ");
  }
  return text;
}

inline std::string rendered(const json& document, bool markdown = false) {
  return unwrapped(render_acceptance(document, markdown));
}

}  // namespace assay::test
