#pragma once
// Splits a gathered result file into the results that were combined in it.

#include "analysis/series.hpp"

namespace assay {

/// Appends the results that were combined in `named`, each named by its first host. A result that
/// was not gathered is appended unchanged. InputError if "gathered" does not account for all
/// environments.
void add_parts(NamedResult named, Results& results);

}  // namespace assay
