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

/// Bound of the rounding errors, as a part of the sum of magnitudes, of a sum of `terms` terms in
/// fp64, in any order. They walk randomly, unless many terms are equal: then those of a sequential
/// sum may all have one direction (docs/method-analytics.md).
double error_of_sums(double terms);

/// A verification that passes if all relations hold. max_error and bound are those of the relation
/// with the largest error / bound. `checked`: number of values that the relations read; `of`: what
/// these are. Both are in the text of the reference ("fp64: residual, orthogonality; over all
/// 65536000 values").
Verification make_verification(const std::vector<Relation>& relations, std::int64_t checked,
                               const std::string& what);

/// The largest error bound, as a part of a result, that still tells a right one from a wrong one:
/// beyond it not even two digits of a number that passed are sure.
inline constexpr double largest_decided = 1e-2;

/// Makes a verification that passed undecided where `bound` is larger. `why` tells the cause, and
/// what helps.
void leave_undecided(Verification& verification, double bound, const std::string& why);

}  // namespace assay
