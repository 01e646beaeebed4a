#pragma once
// Splits a gathered result file into the results that it was made of.

#include "analysis/series.hpp"

namespace assay {

/// Appends the results that `named` was made of, each named by its first host; a result that was
/// not gathered is appended unchanged. InputError if "gathered" does not account for all
/// environments.
void add_parts(NamedResult named, Results& results);

}  // namespace assay
