#pragma once
// The tables of a comparison: a line for each entry of a list of its document, in the form of
// `assay table`.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/compare/side.hpp"
#include "analysis/page.hpp"

namespace assay {

/// A column of entries. Its cells may add lines to the legend.
struct EntryField {
  std::string title;
  bool right = true;       ///< aligned right, for numbers
  int spare = 0;           ///< as Field::spare
  bool if_varied = false;  ///< if all cells are equal, a line above the table says it instead
  std::function<std::string(const nlohmann::json& entry, Legend&)> cell;
};

/// The reasons and notes of an entry, which become footnotes.
using Reasons = std::function<std::vector<std::string>(const nlohmann::json& entry)>;

/// Entries with their benchmark, problem and the parameters that differ between them, then the
/// fields, then the numbers of footnotes. Where a table of several benchmarks would be too wide,
/// each has its own. The rows of the entries are found in the sides by their id.
void add_entries(Page& page, const std::vector<const nlohmann::json*>& entries, const Side& base,
                 const Side& updated, const std::vector<EntryField>& fields,
                 const Reasons& reasons);

}  // namespace assay
