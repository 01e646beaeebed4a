#pragma once
// Measured inputs of the prediction: computation from rows of assay-resnet50, alpha and beta from
// rows of assay-collectives.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "analysis/curves.hpp"
#include "analysis/scaling/input.hpp"
#include "analysis/series.hpp"

namespace assay::scaling {

/// Result files, each read and checked once.
class MeasuredFiles {
 public:
  /// `folder`: file names are relative to it.
  explicit MeasuredFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
  const SeriesList& series(const std::string& file);
  /// The paths of the files that were read.
  std::vector<std::string> files() const;

 private:
  std::filesystem::path folder_;
  std::map<std::string, SeriesList> read_;
};

/// The computation of a training step, from the row with this id: its median time without waiting
/// for input and without exposed communication, split in proportion to the mean times of the
/// phases. `where`: prefix of messages. InputError if no such row is ok, or if it is not a
/// training.
BatchCompute read_measured_compute(MeasuredFiles& files, const std::string& file,
                                   const std::string& id, const std::string& where);

struct MeasuredLink {
  AlphaBeta fit{};                  ///< of one message
  std::vector<std::string> rows{};  ///< ids
  std::string what{};               ///< "allreduce by ring, 2 ranks, mpi"
};
/// Alpha and beta of a message, from the rows whose ids contain a match of `pattern`. The rows are
/// several sizes of sendrecv, or of allreduce by an algorithm of algorithm_costs(), which gives the
/// numbers of messages and bytes. Least squares of the relative residuals. InputError for fewer
/// than three sizes, rows that differ in more than their size, a poor fit (R² below
/// least_r_squared), and an alpha or beta that is not positive.
MeasuredLink read_measured_link(MeasuredFiles& files, const std::string& file,
                                const std::string& pattern, const std::string& where);

}  // namespace assay::scaling
