#pragma once
// The settings that may differ between the sides of a comparison, and the two sides of one result.

#include <map>
#include <string>
#include <vector>

#include "analysis/load.hpp"

namespace assay {

struct Variation {
  std::string name;  ///< as documents show it
  /// The parameters in which the rows of a pair differ; empty if rows are paired by their ids.
  std::vector<std::string> parameters{};
  /// True if a side may have libraries and settings that the other side lacks.
  bool other_libraries = false;
  std::string note{};  ///< a caveat for such a comparison, or ""

  Variation() = default;
  /// A value of --vary: software, hardware, precision, backend or nothing.
  Variation(const std::string& vary);
  Variation(const char* vary) : Variation(std::string(vary)) {}
};

/// The rows of one side: the values of some parameters.
class Selection {
 public:
  /// "NAME=VALUE" each. InputError, naming the flag, for other texts.
  Selection(std::string flag, const std::vector<std::string>& texts);
  const std::string& flag() const { return flag_; }
  const std::map<std::string, std::string>& values() const { return values_; }
  std::string text() const;  ///< "backend=onednn,threads=4"
  bool holds(const Row& row) const;

 private:
  std::string flag_;
  std::map<std::string, std::string> values_;
};

/// The parameters in which the selections differ. InputError for a parameter or a value that no row
/// of the results has, for a selection without a row, and if the selections are equal.
Variation find_variation(const Selection& base, const Selection& updated, const Results& results);

/// The results with only the rows of a selection.
Results select_rows(Results results, const Selection& selection);
/// The results with only the rows that match --filter, as in filter_series()
/// (analysis/table/table.hpp); without clauses all of them.
Results filter_rows(Results results, const std::vector<std::string>& clauses);

}  // namespace assay
