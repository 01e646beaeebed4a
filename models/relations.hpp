#pragma once
// What an analysis is verified by: properties that its results must have together.

#include <cstdint>
#include <string>
#include <vector>

#include "core/api/oracle.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// Whether sums over the ranks have all rows of a table: `counted` is the sum of the ranks' own.
Relation all_rows(double counted, std::int64_t rows);

/// Passed where all relations hold. max_error and bound are those of the relation with the largest
/// error over its bound. `checked`: values that went into them; `of`: of what, for the reference's
/// text ("fp64: residual, orthogonality; over all 65536000 values").
Verification verification_of(const std::vector<Relation>& relations, std::int64_t checked,
                             const std::string& of);

}  // namespace assay
