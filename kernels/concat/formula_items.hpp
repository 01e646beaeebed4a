#pragma once
// The references of concatenation and of its split as code of one thread, on the host or on a
// device (core/api/formula.hpp). Definitions: kernels/concat/problem.hpp.

#include "core/api/expected.hpp"

namespace assay::concat {

/// The source of an element: the input, the element in it, and the number of elements from it on
/// that are adjacent in both the input and the output.
struct Origin {
  int input;
  std::int64_t element, followed;
};

/// Inputs: src0, src1, ….
struct Dst {
  static constexpr const char* name = "concat dst";
  static constexpr int most_inputs = 8;
  std::int64_t ends[most_inputs] = {};  ///< of each input in an image of dst, in elements
  std::int64_t image = 1;               ///< elements of it

  ASSAY_ITEM Origin origin(std::int64_t i) const {
    const std::int64_t rest = i % image;
    std::int64_t start = 0;
    int k = 0;
    while (rest >= ends[k]) start = ends[k++];
    return {k, i / image * (ends[k] - start) + rest - start, ends[k] - rest};
  }
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double*, std::int64_t i) const {
    const Origin from = origin(i);
    return {in(from.input, from.element), 0, 0};
  }
};

/// Input: diff_dst.
struct DiffSrc {
  static constexpr const char* name = "concat diff_src";
  std::int64_t start = 0;            ///< of the output in an image of diff_dst, in elements
  std::int64_t image = 1, part = 1;  ///< elements of an image of diff_dst, of the output

  ASSAY_ITEM Origin origin(std::int64_t i) const {
    const std::int64_t rest = i % part;
    return {0, i / part * image + start + rest, part - rest};
  }
  template <class In>
  ASSAY_ITEM Expected operator()(const In& in, const double*, std::int64_t i) const {
    return {in(0, origin(i).element), 0, 0};
  }
};

}  // namespace assay::concat
