#pragma once
// Scores of a network on samples.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace assay {

class Executor;

/// The measure of a network's quality. The score of a set is the mean of its samples' scores.
enum class Quality {
  accuracy,     ///< a sample scores 1 if its label has the largest logit, else 0
  correlation,  ///< Pearson's, of a sample's outputs and targets
  iou,          ///< intersection over union of a sample's pixels, the mean over classes
};
const std::string& name(Quality quality);

/// The score of each sample of the batch that `executor` has run.
std::vector<double> read_scores(const Executor& executor);

/// The mean of intersection over union, over the classes that occur in the labels or predictions of
/// a sample. `confusion` [classes, classes]: number of pixels by label and prediction.
double iou(std::span<const std::int32_t> confusion, std::int64_t classes);

}  // namespace assay
