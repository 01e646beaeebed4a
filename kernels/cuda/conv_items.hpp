#pragma once
// The items (item.hpp) of convolutions, which reorder filters and convert inputs between types.

#include "kernels/cuda/item.hpp"

namespace assay::cuda {

/// to [n, columns, rows] = from [n, rows, columns]. An item transposes a square tile. It reads and
/// writes packs if rows and columns consist of whole packs.
template <class Stored>
struct Transpose {
  static constexpr int width = widest<Stored>;
  const Stored* from;
  Stored* to;
  std::int64_t rows, columns;
  std::int64_t items(std::int64_t elements) const {
    return elements / (rows * columns) * tiles(rows) * tiles(columns);
  }
  /// Adjacent items write adjacent packs.
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t strip = i / tiles(rows), matrix = strip / tiles(columns),
                       row = (i - strip * tiles(rows)) * width,
                       column = (strip - matrix * tiles(columns)) * width,
                       first = matrix * rows * columns;
    const bool reads = columns % width == 0 && begins_pack(from),
               writes = rows % width == 0 && begins_pack(to);
    Pack<Stored, width> tile[width] = {};
    for (int r = 0; r < width; ++r)
      if (row + r < rows) tile[r] = read_row(first + (row + r) * columns + column, column, reads);
    for (int c = 0; c < width; ++c)
      if (column + c < columns) {
        Pack<Stored, width> pack = {};
        for (int r = 0; r < width; ++r) pack.at[r] = tile[r].at[c];
        write_row(first + (column + c) * rows + row, row, writes, pack);
      }
  }

 private:
  ASSAY_ITEM static std::int64_t tiles(std::int64_t length) { return (length + width - 1) / width; }
  ASSAY_ITEM static bool begins_pack(const void* memory) {
    return reinterpret_cast<std::uintptr_t>(memory) % sizeof(Pack<Stored, width>) == 0;
  }
  ASSAY_ITEM static void write(const Pack<Stored, width>& pack, Stored* at) {
#if defined(__CUDA_ARCH__)
    uint4 words;  // otherwise nvcc splits the pack (item.hpp)
    memcpy(&words, &pack, sizeof pack);
    __stwb(reinterpret_cast<uint4*>(at), words);
#else
    *reinterpret_cast<Pack<Stored, width>*>(at) = pack;
#endif
  }
  ASSAY_ITEM Pack<Stored, width> read_row(std::int64_t at, std::int64_t column, bool whole) const {
    if (whole) return read<width>(from + at);
    Pack<Stored, width> pack = {};
    for (int c = 0; c < width; ++c)
      if (column + c < columns) pack.at[c] = from[at + c];
    return pack;
  }
  ASSAY_ITEM void write_row(std::int64_t at, std::int64_t row, bool whole,
                            const Pack<Stored, width>& pack) const {
    if (whole) return write(pack, to + at);
    for (int r = 0; r < width; ++r)
      if (row + r < rows) to[at + r] = pack.at[r];
  }
};

/// Widens as many of n 16-bit elements as one load reads.
template <class Stored>
struct ToFp32 {
  static constexpr int width = widest<Stored>;
  const Stored* from;
  float* to;
  std::int64_t n;
  static std::int64_t items(std::int64_t elements) { return (elements + width - 1) / width; }
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t first = i * width;
    if (first + width > n) {
      for (std::int64_t j = first; j < n; ++j) to[j] = widen(from[j]);
      return;
    }
    float values[width];
    load<width>(from + first, values);
    store<width / 2>(values, to + first);
    store<width / 2>(values + width / 2, to + first + width / 2);
  }
};

}  // namespace assay::cuda
