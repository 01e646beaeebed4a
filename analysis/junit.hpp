#pragma once
// JUnit XML, the format in which continuous-integration systems read test results.

#include <boost/property_tree/ptree.hpp>
#include <string>
#include <vector>

namespace assay {

/// A testsuite with its testcases and their counts.
class JunitSuite final {
 public:
  enum class Outcome { passed, failure, error, skipped };

  explicit JunitSuite(std::string name) : name_(std::move(name)) {}

  /// `type` and `reason` are for failures and errors; `reason` alone for what is skipped.
  void add(const std::string& test, Outcome outcome, const std::string& type,
           const std::string& reason);
  /// Appends the text of the testsuite, unless it has no tests.
  void write(std::string& testsuites) const;

 private:
  std::string name_;
  std::vector<boost::property_tree::ptree> tests_;
  std::size_t failures_ = 0, errors_ = 0, skipped_ = 0;
};

/// The document of these testsuites. What XML 1.0 cannot represent in a text is replaced.
std::string junit_text(const std::string& testsuites);

}  // namespace assay
