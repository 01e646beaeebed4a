#pragma once
// The limits of criteria, and how many rows and nodes met each.

#include <map>
#include <string>
#include <vector>

#include "analysis/accept/acceptance.hpp"

namespace assay {

/// The criterion of every row, and the end of the criteria on a node's environment ("software as on
/// most nodes"). They apply whatever the file of criteria says.
inline constexpr const char* present_text = "present, correct and complete";
inline constexpr const char* as_on_most = " as on most nodes";

class LimitCounts {
 public:
  /// Limits in the order of the criteria.
  explicit LimitCounts(const Criteria& criteria);
  /// Counts checks of a row, or of a node's health.
  void add(const std::vector<Check>& checks);
  /// Counts the environment of a node that differs from that of most nodes in these findings.
  void add_environment(const std::vector<Check>& differences);
  /// Counts the rows of a node without any row as absent.
  void add_missing_rows(std::size_t rows);
  std::vector<Acceptance::Limit> take() { return std::move(limits_); }

 private:
  void add(const Check& check);
  std::vector<Acceptance::Limit> limits_;
  std::map<std::string, std::size_t> places_;  ///< by criterion
};

}  // namespace assay
