#pragma once
// The input of the scaling model (results-schema/scale.schema.json). Every number has its source: a
// measured row, or a citation or assumption.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/scaling/network.hpp"
#include "analysis/scaling/step_time.hpp"

namespace assay::scaling {

/// The computation of a rank for a batch of one size.
struct BatchCompute {
  std::int64_t batch = 0;  ///< images
  Compute compute;
};

/// A curve over ranks: weak scaling with `batch` images a rank, or strong scaling with
/// `global_batch` images of all ranks.
struct CurveInput {
  std::optional<std::int64_t> batch, global_batch;
};

/// A published point with which the prediction is compared.
struct Published {
  std::size_t curve = 0;
  std::string algorithm, quantity;  ///< efficiency, images_per_s or step_s
  int ranks = 0;
  double value = 0;
  std::string citation, note;
};

struct ScaleInput {
  std::string name, description;
  std::vector<std::string> files;     ///< paths of the input and of the result files in it
  std::vector<BatchCompute> compute;  ///< by batch
  std::vector<Bucket> buckets;
  std::size_t element_bytes = 4;
  Overlap overlap = Overlap::backward;
  Network network;
  std::vector<std::string> algorithms;
  std::vector<int> ranks;  ///< ascending
  std::vector<CurveInput> curves;
  std::vector<Published> published;
  /// Every number that the prediction depends on: name, value, unit, kind (measured, assumed or
  /// computed), source, and for measured ones rows and fit ("inputs" of scaling.schema.json).
  nlohmann::json sources = nlohmann::json::array();
};

/// The file of an input: `name` is a path, or the name of a shipped one (suites/scale/<name>.json).
/// InputError with the nearest name.
std::filesystem::path find_scale_input(const std::string& name);

/// Reads an input, and the result files that it names (relative to its folder). InputError with
/// file and field for what violates the schema or is meaningless, and for rows from which a number
/// cannot be derived.
ScaleInput read_scale_input(const std::filesystem::path& file);

}  // namespace assay::scaling
