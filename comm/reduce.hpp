#pragma once
// Sums, minima, maxima and conversions of host buffers, for Assay's own algorithms.

#include <span>
#include <string>

#include "core/api/communicator.hpp"

namespace assay {

/// Why elements of `type` cannot be reduced by `op`, or empty: 8-bit integers are not reduced, and
/// integers have no average.
std::string why_not_reduce(DataType type, ReduceOp op);

/// True if the collective applies a reduction operator.
bool combines(Collective what);

/// into[i] = a[i] op b[i]; `average` sums, and scale() divides. 16-bit types are combined in fp32
/// and rounded once to nearest even; s32 wraps; min and max give a[i] where one of the two is NaN.
/// `into` may be `a` or `b`. Types and counts must be equal. The result of an element does not
/// depend on its position or on the vector width: equal inputs give equal bits. `also`: further
/// destinations of the result, written by non-temporal stores (streamed_copy.hpp). They are written
/// in the same pass, so that writes overlap reads, if all destinations have the same offset in a
/// cache line.
void combine(Buffer into, Buffer a, Buffer b, ReduceOp op, std::span<std::byte* const> also = {});
inline void reduce_into(Buffer into, Buffer from, ReduceOp op) { combine(into, into, from, op); }

/// Divides a sum by the number of ranks, with one rounding in the type (16-bit types: divided in
/// fp32, then rounded; with p = 24 ≥ 2·11 + 2 bits the second rounding changes nothing: S. A.
/// Figueroa, When is double rounding innocuous?, ACM SIGNUM Newsletter 30, 1995).
void scale(Buffer sum, int ranks);

/// Copies between buffers of one type, which may be identical but must not overlap otherwise.
void copy(Buffer into, Buffer from);

/// Converts between fp32 or fp64 and fp16 or bf16, rounding to nearest even; fp64 is rounded to
/// fp32 first.
void convert(Buffer into, Buffer from);

}  // namespace assay
