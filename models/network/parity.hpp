#pragma once
// Compares a network with the same network in fp64 by plain loops.

#include <cstdint>
#include <span>

#include "core/measure/workload.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// How far a network in this precision may be from fp64, as a part of the 2-norm of each tensor.
struct NetworkTolerance {
  double forward;        ///< of losses, logits and statistics
  double gradients;      ///< of each tensor
  double all_gradients;  ///< of all of them as one vector
};
NetworkTolerance network_tolerance(Precision precision);

/// One forward and backward pass from initial parameters, but with parity_last_norm, on two images
/// (more where the last stage's planes are so small that statistics need them), by the backends
/// that `settings` choose, and by `reference` in fp64: compares loss, logits, statistics and every
/// gradient. The backward pass of the reference begins from what the forward pass of the other has
/// left: images, parameters, activations and statistics. Else rounding would change signs before
/// rectifiers, and one of N elements alone move a gradient by N^-1/2 and more.
Verification compare_with_reference(TrainerSettings settings, Plugins& plugins);

/// ||is - should||_2 / ||should||_2; ||is||_2 where `should` is 0. No number where one of them is
/// none.
double relative_difference(std::span<const double> is, std::span<const double> should);

/// Initial weight of the last normalization of each block in a network that is compared with fp64:
/// with 1 every block amplifies the roundings of those before it.
inline constexpr double parity_last_norm = 0.1;

/// Random images in (-1, 1) and classes, the same for equal seeds.
void load_random(Executor& executor, std::uint64_t seed);
void load_random(Trainer& trainer, std::uint64_t seed);

/// Images of a network for which statistics of the last stage have enough elements.
std::int64_t parity_batch(const ResnetShape& shape);

}  // namespace assay
