#pragma once
// What the data sheets of GPUs promise (results-schema/gpu-peaks.json): a new GPU is a line there.

#include <optional>
#include <string>

namespace assay {

/// Operations a second by the data sheet of the device; none where it is unknown, or has none in
/// this precision.
std::optional<double> data_sheet_flops(const std::string& device, const std::string& precision);
/// Bytes a second of its memory.
std::optional<double> data_sheet_bandwidth(const std::string& device);

}  // namespace assay
