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
/// parity_last_norm), with the backends of `settings` and in fp64 with `reference`. Compares loss,
/// logits, statistics and all gradients. The reference's backward pass starts from the images,
/// parameters, activations and statistics of the tested network: otherwise rounding would give some
/// activations before rectifiers another sign, and a single such element of N changes a gradient by
/// a part of about N^-1/2. A network beyond `limits` is compared in a smaller form (parity_form()).
Verification compare_with_reference(TrainerSettings settings, Plugins& plugins,
                                    const ParityLimits& limits = {});
/// The choices of `executor` for its forward and backward pass.
std::vector<Choice> list_choices_of_pass(const Executor& executor);

/// ||is - should||_2 / ||should||_2, or ||is||_2 if `should` is 0. NaN if an element of either is
/// NaN.
double relative_difference(std::span<const double> is, std::span<const double> should);
/// The same for outputs around a large mean, which would hide errors: the error beyond rounding to
/// `stored`, relative to the outputs' deviation from the mean.
double relative_to_deviation(std::span<const double> is, std::span<const double> should,
                             DataType stored);
/// One of these two functions: relative_to_deviation() for networks without labels.
double difference_of_outputs(std::span<const double> is, std::span<const double> should,
                             const Executor& executor);

/// True if rounding may explain that a gradient differs by `relative` from its reference (`zero`:
/// the gradient is 0); false if it cannot; nothing if a further draw must decide. `change`: the
/// gradient's largest change in `draws` draws; each draw rounds the inputs randomly. A change may
/// be 0 by chance (for one element, or a few equal terms). So the first draw rejects nothing, and
/// further ones, except the last, reject only differences that exceed `change` by far.
std::optional<bool> is_rounding(double relative, bool zero, double change, int draws,
                                DataType stored);

/// Initial scale of the last normalization of each block in a network that is compared with fp64.
/// With 1, every block would amplify the rounding errors of earlier blocks.
inline constexpr double parity_last_norm = 0.1;

/// Loads images with random elements in (-1, 1) and random labels, which depend on the seed.
void load_random(Executor& executor, std::uint64_t seed);
void load_random(Trainer& trainer, std::uint64_t seed);

/// The number of images in a comparison: 2, or more if the smallest planes have too few elements
/// for statistics.
std::int64_t parity_batch(const Network& network);

}  // namespace assay
