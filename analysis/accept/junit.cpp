#include <fmt/format.h>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <sstream>

#include "analysis/accept/acceptance.hpp"
#include "analysis/text_table.hpp"

namespace assay {

using boost::property_tree::ptree;
using nlohmann::json;

namespace {

/// XML 1.0 cannot represent most control characters, U+FFFE and U+FFFF.
std::string legal(const std::string& text) {
  std::string safe = visible(text);
  for (const char* const noncharacter : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (std::size_t at = 0; (at = safe.find(noncharacter, at)) != std::string::npos;)
      safe.replace(at, 3, "\uFFFD");
  return safe;
}

void attribute(ptree& element, const char* name, const std::string& value) {
  // put() splits the path at dots, not the value.
  element.put(fmt::format("<xmlattr>.{}", name), legal(value));
}

class Suite {
 public:
  explicit Suite(std::string name) : name_(std::move(name)) {}

  void add(const std::string& criterion, const json& check) {
    ptree test;
    attribute(test, "classname", name_);
    attribute(test, "name", criterion);
    ++tests_;
    const std::string verdict = check["verdict"];
    const std::string reason =
        check["reason"].is_string() ? check["reason"].get<std::string>() : "";
    const auto outcome = [&](const char* element, std::size_t& count) {
      ptree inner;
      attribute(inner, "message", reason);
      if (element != std::string("skipped")) attribute(inner, "type", verdict);
      test.add_child(element, inner);
      ++count;
    };
    if (verdict == "PERF-FAIL" || verdict == "INCORRECT") outcome("failure", failures_);
    if (verdict == "MISSING" || verdict == "NOT-QUIET") outcome("error", errors_);
    if (verdict == "unknown") outcome("skipped", skipped_);
    tests_tree_.push_back(std::move(test));
  }

  void write(ptree& into) const {
    if (tests_ == 0) return;
    ptree suite;
    attribute(suite, "name", name_);
    attribute(suite, "tests", std::to_string(tests_));
    attribute(suite, "failures", std::to_string(failures_));
    attribute(suite, "errors", std::to_string(errors_));
    attribute(suite, "skipped", std::to_string(skipped_));
    for (const ptree& test : tests_tree_) suite.add_child("testcase", test);
    into.add_child("testsuite", suite);
  }

 private:
  std::string name_;
  std::vector<ptree> tests_tree_;
  std::size_t tests_ = 0, failures_ = 0, errors_ = 0, skipped_ = 0;
};

}  // namespace

std::string junit_xml(const json& document) {
  ptree suites;
  Suite fleet("fleet");
  for (const json& unmet : document["unmet"])
    fleet.add(unmet["criterion"], {{"verdict", unmet["verdict"]}, {"reason", unmet["reason"]}});
  fleet.write(suites);
  for (const json& node : document["nodes"]) {
    Suite suite(node["node"]);
    for (const json& row : node["rows"])
      for (const json& check : row["checks"])
        suite.add(fmt::format("{}: {}", row["id"].get<std::string>(),
                              check["criterion"].get<std::string>()),
                  check);
    for (const json& finding : node["health"]["findings"])
      suite.add(fmt::format("health: {}", finding["criterion"].get<std::string>()), finding);
    if (node["rows"].empty())
      suite.add("node", {{"verdict", "MISSING"}, {"reason", "the node has no result"}});
    suite.write(suites);
  }
  ptree root;
  root.add_child("testsuites", suites);
  std::ostringstream text;
  boost::property_tree::write_xml(
      text, root, boost::property_tree::xml_writer_make_settings<std::string>(' ', 1));
  return text.str();
}

}  // namespace assay
