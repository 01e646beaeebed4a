#pragma once
// Verification of an analysis by relations: properties that its results must have together.

#include <cstdint>
#include <string>
#include <vector>

#include "core/api/oracle.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// The relation that sums over the ranks include all `rows` of a table. `counted`: the sum
/// of the numbers of rows of all ranks.
Relation all_rows(double counted, std::int64_t rows);

/// Bound of the rounding errors of an fp64 sum of `terms` terms in any order, relative to the sum
/// of magnitudes. The errors are a random walk, unless many terms are equal: then all errors of a
/// sequential sum may have the same sign (docs/method-analytics.md).
double error_of_sums(double terms);

/// A verification that passes if all relations hold. max_error and bound are those of the relation
/// with the largest error / bound. `checked`: number of values that the relations read; `what`: a
/// description of these values. Both are in the text of the reference ("fp64: residual,
/// orthogonality; over all 65536000 values").
Verification make_verification(const std::vector<Relation>& relations, std::int64_t checked,
                               const std::string& what);

/// The largest relative error bound that still distinguishes right results from wrong ones: above
/// it, not even two digits of a result that passed are certain.
inline constexpr double largest_decided = 1e-2;

/// If `bound` is larger, makes a passed verification undecided. `why`: the cause and the remedy.
void leave_undecided(Verification& verification, double bound, const std::string& why);

}  // namespace assay
