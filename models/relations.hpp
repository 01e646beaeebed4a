#pragma once
// Verification of an analysis by relations: properties that its results must have together.

#include <cstdint>
#include <string>
#include <vector>

#include "core/api/oracle.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// The relation that sums over the ranks include all `rows` of a table. `counted`: the sum of the
/// numbers of rows of all ranks.
Relation all_rows(double counted, std::int64_t rows);

/// A verification that passes if all relations hold. max_error and bound are those of the relation
/// with the largest error / bound. `checked`: number of values that the relations read; `of`: what
/// these are. Both are in the text of the reference ("fp64: residual, orthogonality; over all
/// 65536000 values").
Verification verification_of(const std::vector<Relation>& relations, std::int64_t checked,
                             const std::string& of);

}  // namespace assay
