#pragma once
// The item (item.hpp) of concatenation and its split (kernels/concat/problem.hpp), channels
// innermost: a pixel of the whole consists of the pixels of its pieces, one after the other.

#include "kernels/concat/formula_items.hpp"
#include "kernels/cuda/item.hpp"

namespace assay::cuda {

/// Copies `width` channels of a pixel: into the whole, or out of it.
template <class Stored, int width>
struct CopyPiece {
  Stored* whole;
  Stored* pieces[concat::Dst::most_inputs];
  std::int64_t ends[concat::Dst::most_inputs];  ///< of each piece's channels in a pixel, in packs
  Divisor packs;                                ///< by the packs of a pixel
  bool join;
  ASSAY_ITEM void operator()(std::int64_t i) const {
    const std::int64_t pixel = packs.quotient(i), pack = i - pixel * packs.by();
    std::int64_t start = 0;
    int k = 0;
    while (pack >= ends[k]) start = ends[k++];
    Stored* const piece = pieces[k] + (pixel * (ends[k] - start) + pack - start) * width;
    Stored* const place = whole + i * width;
    *reinterpret_cast<Pack<Stored, width>*>(join ? place : piece) =
        read<width>(join ? piece : place);
  }
};

}  // namespace assay::cuda
