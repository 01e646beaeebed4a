#pragma once
// Losses by the definition of a network, computed in fp64 from its logits.

#include <cstdint>
#include <span>
#include <vector>

namespace assay {

struct ClaimedLoss {
  double value = 0, bound = 0;  ///< bound: rounding errors, if computed with roundoff u
};

/// Softmax cross-entropy of one label with label smoothing s:
/// ln sum exp z - (1 - s) z_label - s mean z.
ClaimedLoss compute_claimed_cross_entropy(std::span<const double> logits, std::size_t label,
                                          double smoothing, double u);

/// The loss and the counts of an image with a label for each pixel.
struct ClaimedPixels {
  ClaimedLoss loss;  ///< sum over pixels, each times the factor of its label's class
  std::vector<std::int64_t> counts;  ///< pixels by [label, class of the largest logit]
  double iou = 0;                    ///< intersection over union, by these counts
};
/// `logits` [classes, pixels]; `factors`: one for each class.
ClaimedPixels compute_claimed_pixels(std::span<const double> logits, std::span<const double> labels,
                                     std::span<const double> factors, double u);

}  // namespace assay
