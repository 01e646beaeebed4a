#pragma once
// Sums, minima and maxima of host buffers: what an algorithm of our own does between its messages.

#include <span>
#include <string>

#include "core/api/communicator.hpp"

namespace assay {

/// Why elements of `type` are not combined by `op`, or empty. 8-bit integers are only moved, and
/// the mean of integers is no integer.
std::string why_not_reduce(DataType type, ReduceOp op);

/// Whether the collective combines elements.
bool combines(Collective what);

/// into[i] = a[i] op b[i], `average` being the sum (scale() does the rest). 16-bit types are
/// combined in fp32 and rounded once to nearest even; s32 wraps; min and max take a[i] where either
/// is no number. `into` may be `a` or `b`. Equal types and counts are the caller's duty. Element by
/// element in order: numbers have the same bits wherever and however often it runs.
/// The result goes to each of `also` as well, as by streamed_copy(); where they begin alike in a
/// line, in the same pass, so that these writes overlap the reads.
void combine(Buffer into, Buffer a, Buffer b, ReduceOp op, std::span<std::byte* const> also = {});
inline void reduce_into(Buffer into, Buffer from, ReduceOp op) { combine(into, into, from, op); }

/// From the sum over `ranks` to their mean, by one division in the type (16-bit types: in fp32,
/// then rounded: with p = 24 ≥ 2·11 + 2 bits the second rounding does no harm, Figueroa 1995).
void scale(Buffer sum, int ranks);

/// Plain copy; buffers of one type, that may be the same but not overlap otherwise.
void copy(Buffer into, Buffer from);

/// Copies while converting between fp32 or fp64 and fp16 or bf16, rounding to nearest even; fp64 is
/// rounded to fp32 before.
void convert(Buffer into, Buffer from);

}  // namespace assay
