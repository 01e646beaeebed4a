#include "analysis/junit.hpp"

#include "analysis/accept/acceptance.hpp"
#include "analysis/text_table.hpp"

namespace assay {

namespace {

void add(JunitSuite& suite, const std::string& test, NodeVerdict verdict,
         const std::string& reason) {
  // In the order of NodeVerdict.
  constexpr const char* outcomes[] = {"skipped", "",      "error",  "failure",
                                      "error",   "error", "failure"};
  suite.add(test, outcomes[static_cast<std::size_t>(verdict)], verdict_names[verdict], reason);
}

}  // namespace

std::string junit_xml(const Acceptance& acceptance) {
  std::string suites;
  JunitSuite fleet("fleet");
  for (const auto& unmet : acceptance.unmet)
    add(fleet, unmet.criterion, unmet.verdict, unmet.reason);
  const auto write = [&](JunitSuite& suite) {
    suite.set_property("criteria", acceptance.criteria.name);
    suite.set_property("criteria sha256", acceptance.criteria.sha256);
    suite.write(suites);
  };
  write(fleet);
  for (const JudgedNode& node : acceptance.nodes) {
    JunitSuite suite(node.node);
    for (const JudgedRow& row : node.rows)
      for (const Check& check : row.checks)
        add(suite, row.id + ": " + check.criterion, check.verdict, check.reason);
    for (const Check& finding : node.health.findings)
      add(suite, "health: " + finding.criterion, finding.verdict, finding.reason);
    if (node.rows.empty())
      add(suite, "node", NodeVerdict::missing,
          std::string(no_result) + ": none of " + counted(node.rows_missing, "judged row"));
    write(suite);
  }
  return junit_text(suites);
}

}  // namespace assay
