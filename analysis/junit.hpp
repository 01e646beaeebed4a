#pragma once
// JUnit XML, the format in which continuous-integration systems read test results.

#include <boost/property_tree/ptree.hpp>
#include <map>
#include <string>
#include <vector>

namespace assay {

/// A testsuite with its testcases and their counts.
class JunitSuite final {
 public:
  explicit JunitSuite(std::string name) : name_(std::move(name)) {}

  /// `outcome`: failure, error or skipped; other testcases passed. `type` and `reason` are for
  /// failures and errors; skipped testcases have only `reason`.
  void add(const std::string& test, const std::string& outcome, const std::string& type,
           const std::string& reason);
  /// A fact about all tests of the suite.
  void set_property(const std::string& name, const std::string& value);
  /// Appends the text of the testsuite, unless it has no tests.
  void write(std::string& testsuites) const;

 private:
  std::string name_;
  std::vector<boost::property_tree::ptree> tests_;
  boost::property_tree::ptree properties_;
  std::map<std::string, std::size_t> counts_;  ///< by outcome
};

/// The document of these testsuites. Characters that XML 1.0 cannot represent are replaced.
std::string escape_junit(const std::string& testsuites);

}  // namespace assay
