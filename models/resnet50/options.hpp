#pragma once
// The flags of assay-resnet50, and what their values mean together.

#include <optional>
#include <string>
#include <vector>

#include "core/api/precision.hpp"
#include "core/program/benchmark.hpp"

namespace assay::resnet50 {

/// Value of "backend": the fastest one for each operation, found by measuring.
inline constexpr const char* measured = "auto";

/// In the order of the id.
std::vector<Dimension> dimensions();
/// Benchmark::complete.
void complete(Settings& settings, const RankCount& started);

/// Benchmark::expect_compatible: a checkpoint has one training.
void expect_compatible(const std::vector<Case>& cases);

/// Whether the case is an inference; else it is a training.
bool is_inference(const Settings& settings);
/// Precision of the tensors of activations and of their gradients, which may be emulated.
Precision stored(const Settings& settings);
/// The reason why an inference cannot have these settings (one of them is for training); nothing if
/// it can.
std::optional<std::string> why_not_inference(const Settings& settings);

}  // namespace assay::resnet50
