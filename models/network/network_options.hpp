#pragma once
// The flags of a program that trains a network, and what their values mean together.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/api/precision.hpp"
#include "core/program/benchmark.hpp"

namespace assay::network_options {

/// Value of "backend": the fastest one for each operation, found by measuring.
inline constexpr const char* measured = "auto";

/// In the order of the id. `problem`: --problem and the flags of its fields.
std::vector<Dimension> dimensions(const std::vector<Dimension>& problem);
/// The sorted names of the dimensions that determine what a training step computes. A throughput
/// and a convergence belong together if they agree in all of them and in their software.
std::vector<std::string> step_parameters(const std::vector<Dimension>& dimensions);
/// Benchmark::complete, with these dimensions() of a network that has so many classes.
void complete(Settings& settings, const RankCount& started,
              const std::vector<Dimension>& dimensions, std::int64_t classes);

/// Benchmark::expect_compatible: a checkpoint has one training.
void expect_compatible(const std::vector<Case>& cases);

/// Whether the case is an inference; else it is a training.
bool is_inference(const Settings& settings);
/// Precision of the tensors of activations and of their gradients, which may be emulated.
Precision stored(const Settings& settings);
/// The reason why an inference cannot have these settings (one of them is for training); nothing if
/// it can.
std::optional<std::string> why_not_inference(const Settings& settings,
                                             const std::vector<Dimension>& dimensions);

}  // namespace assay::network_options
