#pragma once
// The text around a table: its title, and the notes that explain its numbers.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// The notes below a table: each line once, and the citations of a system in one line.
class Legend {
 public:
  /// Nothing for "".
  void add(const std::string& line);
  void cite(const std::string& system, const std::string& citation);
  /// Adds the part of a baseline's note that the columns and marks of the table do not already
  /// show.
  void note(const std::string& system, const std::string& note, bool algorithm_shown);
  /// "[1]", the number of a reason among those below the table; equal reasons have one number.
  std::string footnote(const std::string& reason);
  /// Appends the lines of `other`, which must have no footnotes.
  void merge(const Legend& other);
  std::string text(bool markdown) const;

 private:
  std::set<std::string> seen_;
  std::vector<std::string> lines_, footnotes_;
  std::map<std::string, std::set<std::string>> citations_;
};

/// Explains the mark of a projection, if the row is one.
void explain_projection(const std::string& system, const nlohmann::json& row, Legend& legend);
/// The same of the number that a row is compared with.
void explain_projected(const std::string& system, const nlohmann::json& match, Legend& legend);
/// Explains the mark "?" of a ratio whose other side does not specify the work completely.
void explain_not_given(const std::string& system, const nlohmann::json& match, Legend& legend);

/// A line above or below a table: escaped for Markdown, else in lines of table_width.
std::string table_line(const std::string& text, bool markdown);

/// The systems, suites and times of the results, and the lines of `constants`.
std::string table_title(const std::vector<NamedResult>& results,
                        const std::vector<std::string>& constants, bool markdown);

}  // namespace assay
