#pragma once
// The part of its ceiling that a series reaches. Shared by tables and reports.

#include <optional>

#include "analysis/series.hpp"

namespace assay {

/// The median of the launches; nothing without a ceiling.
std::optional<double> ceiling_fraction(const Series& series);
/// Whether a launch was faster than its ceiling by more than 3 % (the mark ^).
bool exceeds_ceiling(const Series& series);

}  // namespace assay
