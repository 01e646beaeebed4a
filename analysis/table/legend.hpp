#pragma once
// What stands around a table: whose it is, and what its numbers mean.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// Below the table: each thing once, and the citations of a system as one.
class Legend {
 public:
  void add(const std::string& line);
  void cite(const std::string& system, const std::string& citation);
  /// What a baseline's note says beyond the table's own columns and marks.
  void note(const std::string& system, const std::string& note, bool algorithm_shown);
  /// "[1]", the number of a reason among those below the table; equal reasons have one number.
  std::string footnote(const std::string& reason);
  /// All that the other one says, after what this one says; it has no footnotes.
  void merge(const Legend& other);
  std::string text(bool markdown) const;

 private:
  std::set<std::string> seen_;
  std::vector<std::string> lines_, footnotes_;
  std::map<std::string, std::set<std::string>> citations_;
};

/// Explains the mark of a projection, where the row is one.
void explain_projection(const std::string& system, const nlohmann::json& row, Legend& legend);
/// Explains the mark "?" of a ratio whose other side does not give all that defines the work.
void explain_not_given(const std::string& system, const nlohmann::json& match, Legend& legend);

/// The systems, suites and times of the results, and the lines of what rows share.
std::string table_title(const std::vector<NamedResult>& results,
                        const std::vector<std::string>& constants, bool markdown);

}  // namespace assay
