#pragma once
// The input of the prediction (results-schema/scale.schema.json). Every number has its source: a
// measured row, a citation or an assumption.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/scaling/network.hpp"
#include "analysis/scaling/staging.hpp"
#include "analysis/scaling/step_time.hpp"
#include "analysis/scaling/way_cost.hpp"

namespace assay::scaling {

/// The computation of a rank for a batch of one size.
struct BatchCompute {
  std::int64_t batch = 0;  ///< images
  Compute compute{};
};

/// A curve over ranks: weak scaling with `batch` images a rank, or strong scaling with
/// `global_batch` images of all ranks.
struct CurveInput {
  std::optional<std::int64_t> batch, global_batch;
  bool operator==(const CurveInput&) const = default;
};

/// A published point with which the prediction is compared.
struct PublishedPoint {
  std::size_t curve = 0;
  CurveInput batches{};                 ///< as given; none: the first curve
  std::string algorithm{}, quantity{};  ///< efficiency, images_per_s or step_s
  int ranks = 0;
  double value = 0;
  std::string citation{}, note{};
};

/// The quality of the fit of alpha and beta (AlphaBeta).
struct SourceFit {
  double r2 = 0, worst = 0;
  std::optional<double> held_out{};
};

/// The set of data that nodes stage before they train.
struct StagingInput {
  double bytes = 0, part = 1;
  std::optional<double> wanted{};  ///< bytes per second that training reads
  StagingRates rates{};
  std::vector<int> nodes{};
};

/// A number, or a choice, on which the prediction depends.
struct Source {
  std::string name;
  nlohmann::json value;  ///< number or text
  std::string unit;
  std::string kind;                 ///< measured, assumed or computed
  std::string source;               ///< a citation, or a file with `rows`
  std::vector<std::string> rows{};  ///< ids
  std::optional<SourceFit> fit{};
};

struct ScalingInput {
  std::string name, description;
  std::vector<std::string> files;     ///< paths of the input and of the result files in it
  std::vector<BatchCompute> compute;  ///< by batch
  std::vector<Bucket> buckets;
  std::int64_t tensors = 0;  ///< of the gradients
  std::size_t element_bytes = 4;
  Overlap overlap = Overlap::backward;
  Network network;
  std::vector<std::string> algorithms;
  std::vector<std::string> control;  ///< flat, tree:R
  std::vector<WayInput> ways;
  std::optional<StagingInput> staging;
  std::vector<int> ranks;  ///< ascending
  std::vector<CurveInput> curves;
  std::vector<PublishedPoint> published;
  std::vector<Source> sources;
};

/// Finds the file of an input. `name` is a path, or the name of a shipped input
/// (suites/scale/<name>.json). InputError with the nearest name.
std::filesystem::path find_scale_input(const std::string& name);

/// Reads an input, and the result files that it names (relative to its folder). InputError with
/// file and field if the input violates the schema or is meaningless, and for rows from which a
/// number cannot be derived.
ScalingInput read_scale_input(const std::filesystem::path& file);

}  // namespace assay::scaling
