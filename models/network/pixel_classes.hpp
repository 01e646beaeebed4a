#pragma once
// The classes of pixels: their frequencies and weights. Graph::confusion and iou() (scores.hpp)
// measure how well a network finds them.

#include <span>
#include <vector>

namespace assay {

/// Frequencies of background, cyclones and rivers in simulated weather, from DeepCAM's reference
/// code (azrael417/mlperf-deepcam, train_hdf5_ddp.py). Its loss weighs a class by f^(-1/8), f being
/// the frequency. The exaflop run used 1/f, or 1/sqrt(f) so that fp16 does not overflow
/// (arXiv:1810.01993, section V-B).
inline constexpr double climate_frequencies[] = {0.986267818390377, 0.0004578708870701058,
                                                 0.01327431072255291};

/// f^power of each frequency: the weights of the classes.
std::vector<double> class_weights(std::span<const double> frequencies, double power);

}  // namespace assay
