#pragma once
// Compares a network with the same network in fp64, computed by the backend `reference`.

#include <cstdint>
#include <optional>
#include <span>

#include "core/measure/workload.hpp"
#include "models/network/parity_form.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// Makes one forward and backward pass of parity_batch() images from initial parameters (with
/// parity_last_norm), with the backends of `settings` and in fp64 with `reference`, and compares
/// loss, logits, statistics and all gradients. The reference's backward pass starts from the
/// images, parameters, activations and statistics of the tested network. With its own activations,
/// rounding would change signs before rectifiers, and a single one of N elements changes a gradient
/// by a part of about N^-1/2. A network beyond `limits` is compared in a smaller form
/// (parity_form()).
Verification compare_with_reference(TrainerSettings settings, Plugins& plugins,
                                    const ParityLimits& limits = {});
/// The choices of `executor` for its pass, without what accumulates and updates.
std::vector<Choice> list_choices_of_pass(const Executor& executor);

/// ||is - should||_2 / ||should||_2, or ||is||_2 if `should` is 0. NaN if an element of either is.
double relative_difference(std::span<const double> is, std::span<const double> should);
/// The same of outputs around a mean, which would hide their errors: beyond what rounding to
/// `stored` may make, and as a part of their deviation from the mean.
double relative_to_deviation(std::span<const double> is, std::span<const double> should,
                             DataType stored);
/// One of these, by what the labels of a network say of its outputs.
double difference_of_outputs(std::span<const double> is, std::span<const double> should,
                             const Executor& executor);

/// True if rounding may explain that a gradient differs by `relative` from its reference (`zero`:
/// it is 0), where `change` is the largest that so many random roundings of its inputs have made of
/// it. A change is random: that of one element, or of a few equal terms, may be 0 by chance. So one
/// small one rejects nothing, and the first ones only what exceeds them by far: nothing is returned
/// where a further draw must tell.
std::optional<bool> is_rounding(double relative, bool zero, double change, int draws,
                                DataType stored);

/// Initial scale of the last normalization of each block in a network that is compared with fp64.
/// With 1, every block would amplify the rounding errors of those before it.
inline constexpr double parity_last_norm = 0.1;

/// Loads images with random elements in (-1, 1) and random labels, which depend on the seed.
void load_random(Executor& executor, std::uint64_t seed);
void load_random(Trainer& trainer, std::uint64_t seed);

/// The number of images in a comparison: 2, or more if the smallest planes are so small that their
/// statistics need more elements.
std::int64_t parity_batch(const Network& network);

}  // namespace assay
