#pragma once
// Where the rows of a result file are, without parsing them: so a file of a million rows is read
// in parts, and by several threads.

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// The text of one row, from its first brace to its last.
struct RowPlace {
  std::uint64_t offset = 0, length = 0;  ///< bytes
};

struct RowIndex {
  std::string head;  ///< the document with "rows": [0]
  std::vector<RowPlace> rows;
};

/// Nothing unless the text is an object with one list "rows", all of whose elements are objects.
/// Head and rows are not parsed: where each of them is valid JSON, so is the whole text, with the
/// same content.
std::optional<RowIndex> index_rows(std::istream& text);

}  // namespace assay
