#pragma once
// The flags of a program that trains a network.

#include <optional>
#include <string>
#include <vector>

#include "core/program/benchmark.hpp"

namespace assay::network_options {

/// Value of "direction"; the other is training.
inline constexpr const char* inference = "inference";
/// Value of "backend": the fastest one for each operation, found by measuring.
inline constexpr const char* measured = "auto";

/// All dimensions, in the order of the id. `problem`: --problem and the flags of its fields.
std::vector<Dimension> dimensions(const std::vector<Dimension>& problem);
/// The sorted names of the dimensions that determine what a training step computes. A throughput
/// and a convergence belong together if they agree in all of them and in their software.
std::vector<std::string> step_parameters(const std::vector<Dimension>& dimensions);
/// The reason why an inference cannot have these settings (one of them is for training only);
/// nothing if it can.
std::optional<std::string> why_not_inference(const Settings& settings,
                                             const std::vector<Dimension>& dimensions);

}  // namespace assay::network_options
