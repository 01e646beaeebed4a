#pragma once
// The header of an NPY file: numpy.lib.format, "Format Version 1.0" to "3.0".

#include <cstdint>
#include <vector>

#include "datasets/data_file.hpp"

namespace assay {

struct NpyHeader {
  char kind = 'f';       ///< f, i or u
  int item_size = 8;     ///< bytes of an element: 4 or 8 (f); 1, 2, 4 or 8 (i, u)
  bool swapped = false;  ///< the byte order is not the processor's
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t data_offset = 0;
};

/// InputError if the header is damaged, has an unknown version or element type, or describes more
/// or less data than the file has.
NpyHeader read_npy_header(const DataFile& file);

}  // namespace assay
