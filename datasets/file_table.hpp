#pragma once
// Tables in files: NPY, CSV and libsvm.

#include <cstdint>
#include <memory>
#include <string>

#include "datasets/table.hpp"

namespace assay {

struct TableOptions {
  /// An NPY file with the labels of an NPY table: n or n x 1 numbers. CSV and libsvm files hold
  /// their own.
  std::string labels;
  /// Bytes between two entries of the index of a text file. It is for tests: any number above 0
  /// gives the same rows.
  std::int64_t index_bytes = 1 << 18;
};

/// Opens a table. A file that begins as NPY files do, or is named .npy, is NPY; .csv is CSV; .svm,
/// .libsvm and .svmlight are libsvm; any other is libsvm where the second word of its first line
/// has a colon, else CSV.
///
/// - NPY (numpy.lib.format, versions 1 to 3): two dimensions; f4, f8, i1 to i8, u1 to u8, either
///   byte order, C or Fortran order. Integers beyond 2^53 are rounded to fp64.
/// - CSV: numbers between commas; a byte order mark, CR LF, blank lines, blanks around numbers and
///   a missing last newline are accepted. The first line is a header where it has names and no
///   numbers; names may be quoted as in RFC 4180. A column named label, target or class (in any
///   case) has the labels.
/// - libsvm: "label index:value ..."; indices begin at 1 and ascend, values that are left out are
///   0, the largest index is the number of features, "#" begins a comment.
///
/// Of a text file one parallel pass counts the rows; what is in them is checked when they are read.
/// InputError names the file and, from 1, the row and the column: no regular file, empty,
/// unreadable, changed while it was read; a damaged header, or one that contradicts the size of
/// the file; rows of unequal length, a missing value, NaN, infinity, text that is not a number, an
/// index that is 0 or does not ascend; labels for a file that holds its own.
std::unique_ptr<Table> open_table(const std::string& path, const TableOptions& options = {});

}  // namespace assay
