#pragma once
// Tables of what rows tell beside their times: devices, links and storage.

#include <vector>

#include "analysis/series.hpp"
#include "analysis/text_table.hpp"

namespace assay {

/// A line for each device of each host that a row tells of (row.device_health): the errors and the
/// corrected errors that it has counted by then, those that were corrected while rows were timed,
/// the largest part of a row's time in which its clock was held down (row.device_state), and the
/// states of links and spare parts. Devices with errors are first. Columns that no device has are
/// left out.
Table device_table(const std::vector<NamedResult>& results, const std::vector<Series>& all);

/// A line for each bisection: how many links were slow in any launch, and which, each with its
/// largest ratio.
Table bisection_table(const std::vector<Series>& all);

/// A line for each row of assay-io: its rate, the bytes that storage has moved over those expected
/// (the least of the launches), and latencies of single operations.
Table storage_table(const std::vector<NamedResult>& results, const std::vector<Series>& all);

}  // namespace assay
