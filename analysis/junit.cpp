#include "analysis/junit.hpp"

#include <fmt/format.h>

#include <boost/property_tree/xml_parser.hpp>
#include <sstream>

#include "analysis/text_table.hpp"

namespace assay {

using boost::property_tree::ptree;

namespace {

/// XML 1.0 cannot represent most control characters, U+FFFE and U+FFFF.
std::string legal_in_xml(const std::string& text) {
  std::string safe = visible(text);
  for (const char* const noncharacter : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (std::size_t at = 0; (at = safe.find(noncharacter, at)) != std::string::npos;)
      safe.replace(at, 3, "\uFFFD");
  return safe;
}

void set_attribute(ptree& element, const char* name, const std::string& value) {
  // put() splits paths at dots, but not values.
  element.put(fmt::format("<xmlattr>.{}", name), legal_in_xml(value));
}

}  // namespace

void JunitSuite::add(const std::string& test, const std::string& outcome, const std::string& type,
                     const std::string& reason) {
  ptree element;
  set_attribute(element, "classname", name_);
  set_attribute(element, "name", test);
  if (!outcome.empty()) {
    ptree inner;
    set_attribute(inner, "message", reason);
    if (outcome != "skipped") set_attribute(inner, "type", type);
    element.push_back({outcome, std::move(inner)});
    ++counts_[outcome];
  }
  tests_.push_back(std::move(element));
}

void JunitSuite::set_property(const std::string& name, const std::string& value) {
  ptree property;
  set_attribute(property, "name", name);
  set_attribute(property, "value", value);
  properties_.push_back({"property", std::move(property)});
}

void JunitSuite::write(std::string& testsuites) const {
  if (tests_.empty()) return;
  ptree suite;
  set_attribute(suite, "name", name_);
  set_attribute(suite, "tests", std::to_string(tests_.size()));
  const auto count = [&](const char* name, const char* outcome) {
    const auto counted = counts_.find(outcome);
    set_attribute(suite, name, std::to_string(counted == counts_.end() ? 0 : counted->second));
  };
  count("failures", "failure");
  count("errors", "error");
  count("skipped", "skipped");
  if (!properties_.empty()) suite.push_back({"properties", properties_});
  for (const ptree& test : tests_) suite.push_back({"testcase", test});
  std::ostringstream text;
  boost::property_tree::xml_parser::write_xml_element(
      text, std::string("testsuite"), suite, 1,
      boost::property_tree::xml_writer_make_settings<std::string>(' ', 1));
  testsuites += text.str();
}

std::string escape_junit(const std::string& testsuites) {
  const std::string head = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";
  return head + (testsuites.empty() ? "<testsuites/>\n"
                                    : "<testsuites>\n" + testsuites + "</testsuites>\n");
}

}  // namespace assay
