#pragma once
// Finds the rows of a result file without parsing them, so that several threads can read a file of
// a million rows in parts.

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// The position of one row in the file, from its first brace to its last.
struct RowPlace {
  std::uint64_t offset = 0, length = 0;  ///< bytes
};

struct RowIndex {
  std::string head;  ///< the document with "rows": [0]
  std::vector<RowPlace> rows;
};

/// The head and the positions of all rows. Nothing unless the text is an object with one list
/// "rows", whose elements are all objects. Head and rows are not parsed: the text is valid JSON if
/// each of them is, with the same content.
std::optional<RowIndex> index_rows(std::istream& text);

}  // namespace assay
