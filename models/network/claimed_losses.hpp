#pragma once
// Losses by the definition of a network, in fp64, from the logits that it has.

#include <cstdint>
#include <span>
#include <vector>

namespace assay {

struct ClaimedLoss {
  double value = 0, bound = 0;  ///< bound: of the rounding errors of one that is computed with u
};

/// Softmax cross-entropy of one label with label smoothing s:
/// ln sum exp z - (1 - s) z_label - s mean z.
ClaimedLoss claimed_cross_entropy(std::span<const double> logits, std::size_t label,
                                  double smoothing, double u);

/// Of the pixels of an image: the sum of their losses, each times the factor of its label's class,
/// the number of pixels by label and class of the largest logit, and the intersection over union
/// that these counts have.
struct ClaimedPixels {
  ClaimedLoss loss;
  std::vector<std::int64_t> counts;  ///< [label, class]
  double iou = 0;
};
/// `logits` [classes, pixels]; `factors`: one for each class.
ClaimedPixels claimed_pixels(std::span<const double> logits, std::span<const double> labels,
                             std::span<const double> factors, double u);

}  // namespace assay
