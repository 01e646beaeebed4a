#pragma once
// Peak rates from the data sheets of GPUs (results-schema/gpu-peaks.json). To add a GPU, add a line
// there.

#include <optional>
#include <string>

namespace assay {

/// Peak FLOP/s of a device in a precision; nothing where the device is unknown or its data sheet
/// does not have this precision.
std::optional<double> data_sheet_flops(const std::string& device, const std::string& precision);
/// Memory bandwidth in bytes per second; nothing where the device is unknown.
std::optional<double> data_sheet_bandwidth(const std::string& device);

}  // namespace assay
