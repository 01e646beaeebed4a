#pragma once
// What a throughput of training stands beside: the accuracy that trainings of the same steps reach.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// Trainings with equal steps, made by the same software, from the same images.
struct TrainedSteps {
  std::string data;
  int trainings = 0;    ///< that ended, with whatever result
  int reached = 0;      ///< that reached the target they were given
  double epochs = 0;    ///< of the one that took the most
  double accuracy = 0;  ///< of validation, at the end of that one
};

class Trainings {
 public:
  /// Those among all rows of the results.
  explicit Trainings(const std::vector<NamedResult>& results);

  /// Of a row that trains: a hash of what its step computes (row.step_parameters, with their
  /// values), and of the software: Assay's build and its libraries. "" for other rows.
  std::string step_hash(const Series& series) const;
  /// Trainings of the series' steps that reached their targets, by the images; empty: none, or the
  /// row trains nothing.
  std::vector<TrainedSteps> beside(const Series& series) const;
  /// "accuracy 0.975 in 3 epochs of learnable:n2000v500 (2 of 3 trainings)", or "throughput only":
  /// how many reached their target stands there unless it was one of one.
  /// "" for rows that train nothing, or have no number.
  std::string text(const Series& series) const;

 private:
  const std::vector<NamedResult>& results_;
  std::map<std::string, std::map<std::string, TrainedSteps>> by_step_;
};

inline constexpr const char* convergence_note =
    "convergence: what trainings among these rows reached whose steps (precision, batch, "
    "optimizer: row.step_parameters) and software are the row's, at the longest; throughput only: "
    "none of them reached its target, or there is none.";

}  // namespace assay
