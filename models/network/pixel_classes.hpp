#pragma once
// The classes of pixels: how rare each is, and how much it weighs. Graph::confusion and iou()
// (scores.hpp) tell how well it is found.

#include <span>
#include <vector>

namespace assay {

/// Frequencies of background, cyclones and rivers in the simulated weather that DeepCAM's reference
/// code counts (azrael417/mlperf-deepcam, train_hdf5_ddp.py). Its loss weighs a class by the
/// frequency to the power of -1/8; the exaflop run's by 1/f, or by 1/sqrt(f), so that fp16 does not
/// overflow (arXiv:1810.01993, section V-B).
inline constexpr double climate_frequencies[] = {0.986267818390377, 0.0004578708870701058,
                                                 0.01327431072255291};

/// f^power of each frequency: the weights of the classes.
std::vector<double> class_weights(std::span<const double> frequencies, double power);

}  // namespace assay
