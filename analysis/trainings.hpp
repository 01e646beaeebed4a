#pragma once
// The quality that trainings with the same steps reached. Tables show it beside a training
// throughput.

#include <map>
#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// Trainings with equal steps, by the same software, on the same images.
struct TrainedSteps {
  std::string data;   ///< and whether the training images were also used for validation
  int trainings = 0;  ///< trainings that ended, whether or not they reached the target
  int reached = 0;    ///< trainings that reached their target
  double epochs = 0;  ///< of the reaching training that took the most epochs
  std::string quality = "accuracy";
  double score = 0;  ///< of that quality, at the end of that training
};

class Trainings {
 public:
  /// Finds the trainings among all rows of the results.
  explicit Trainings(const Results& results);

  /// A hash of the parameters that determine the step of a training row (row.step_parameters), and
  /// of its software (Assay's build and its libraries). "" for other rows.
  std::string step_hash(const Series& series) const;
  /// The trainings with the steps of the series that reached their targets, one entry for each set
  /// of images. Empty if there are none, or if the row is not a training.
  std::vector<TrainedSteps> beside(const Series& series) const;
  /// "accuracy 0.975 in 3 epochs of learnable:n2000v500 (2 of 3 trainings)", or "throughput only":
  /// the number of trainings that reached their target is left out if there was only one training.
  /// "" for rows that are not trainings, or have no result.
  std::string text(const Series& series) const;

 private:
  const Results& results_;
  std::map<std::string, std::map<std::string, TrainedSteps>> by_step_;
};

inline constexpr const char* convergence_note =
    "convergence: what trainings among these rows reached whose steps (precision, batch, "
    "optimizer: row.step_parameters) and software are the row's, at the longest; throughput only: "
    "none of them reached its target, or there is none.";

}  // namespace assay
