#pragma once
// Tables in files: NPY, CSV and libsvm.

#include <cstdint>
#include <memory>
#include <string>

#include "datasets/table.hpp"

namespace assay {

class Communicator;

struct DataTableOptions {
  /// An NPY file with the labels of an NPY table: n or n x 1 numbers. CSV and libsvm files contain
  /// their labels.
  std::string labels;
  /// Distance in bytes between two entries of the index of a text file. Any number above 0 gives
  /// the same rows; tests vary it.
  std::int64_t index_bytes = 1 << 18;
  /// The ranks that open the table together, or null. Each then reads a part of the file for its
  /// index and its canonical name. Only open_table() uses them.
  Communicator* ranks = nullptr;
};

/// Opens a table. A file that begins as NPY files do, or is named .npy, is NPY; .csv is CSV; .svm,
/// .libsvm and .svmlight are libsvm; any other file is libsvm if the second word of its first line
/// has a colon, else CSV.
///
/// - NPY (numpy.lib.format, versions 1 to 3): two dimensions; f4, f8, i1 to i8, u1 to u8, either
///   byte order, C or Fortran order. Integers beyond 2^53 are rounded to fp64.
/// - CSV: numbers between commas; a byte order mark, CR LF, blank lines, blanks around numbers and
///   a missing last newline are accepted. The first line is a header if it has names and no
///   numbers; names may be quoted as in RFC 4180. A column named label, target or class (in any
///   case) has the labels.
/// - libsvm: "label index:value ..."; indices begin at 1 and ascend, values that are left out are
///   0, the largest index is the number of features, "#" begins a comment.
///
/// Opening a text file counts its rows in one parallel pass, which is divided among the ranks that
/// open the same file; the contents of rows are checked when they are read. Collective over
/// options.ranks; an error on one rank is thrown on all ranks. InputError names the file and,
/// counted from 1, the row and the column. Its reasons: the file is not regular, empty, unreadable,
/// or has changed while it was read; its header is damaged or contradicts the size of the file;
/// rows have unequal lengths; a value is missing, NaN, infinite or not a number; an index is 0 or
/// does not ascend; labels are given for a file that contains its own.
std::unique_ptr<DataTable> open_table(const std::string& path,
                                      const DataTableOptions& options = {});

}  // namespace assay
