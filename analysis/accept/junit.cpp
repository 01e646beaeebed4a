#include "analysis/junit.hpp"

#include <fmt/format.h>

#include "analysis/accept/acceptance.hpp"
#include "analysis/accept/checks.hpp"
#include "analysis/text_table.hpp"

namespace assay {

using nlohmann::json;

namespace {

void add_check(JunitSuite& suite, const std::string& criterion, const json& check) {
  const std::string verdict = check["verdict"];
  const char* outcome = "";
  if (verdict == "PERF-FAIL" || verdict == "INCORRECT") outcome = "failure";
  if (verdict == "MISSING" || verdict == "NOT-QUIET") outcome = "error";
  if (verdict == "unknown") outcome = "skipped";
  suite.add(criterion, outcome, verdict, text_of(check, "reason"));
}

}  // namespace

std::string junit_xml(const json& document) {
  std::string suites;
  JunitSuite fleet("fleet");
  for (const json& unmet : document["unmet"])
    add_check(fleet, unmet["criterion"],
              {{"verdict", unmet["verdict"]}, {"reason", unmet["reason"]}});
  fleet.write(suites);
  for (const json& node : document["nodes"]) {
    JunitSuite suite(node["node"]);
    for (const json& row : node["rows"])
      for (const json& check : row["checks"])
        add_check(suite,
                  fmt::format("{}: {}", row["id"].get<std::string>(),
                              check["criterion"].get<std::string>()),
                  check);
    for (const json& finding : node["health"]["findings"])
      add_check(suite, fmt::format("health: {}", finding["criterion"].get<std::string>()), finding);
    if (node["rows"].empty())
      add_check(suite, "node",
                {{"verdict", "MISSING"},
                 {"reason", fmt::format("{}: none of {}", no_result,
                                        counted(node["rows_missing"], "judged row"))}});
    suite.write(suites);
  }
  return junit_text(suites);
}

}  // namespace assay
