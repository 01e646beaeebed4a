#pragma once
// The document of `assay model --scale` (results-schema/scaling.schema.json): predicted steps of
// data-parallel training over ranks. Times are in seconds. If an optional number has no value, a
// reason beside it says why.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/scaling/allreduce_cost.hpp"
#include "analysis/scaling/input.hpp"

namespace assay::scaling {

struct PredictedPoint {
  int ranks = 0;
  std::optional<std::int64_t> batch{};  ///< images of a rank
  std::optional<double> step_s{};
  std::optional<double> images_per_s{};  ///< of all ranks
  std::optional<double> efficiency{};    ///< relative to the first point of the curve
  std::optional<double> compute_s{};
  std::optional<double> communication_s{};  ///< sum of the allreduces of a step
  std::optional<double> exposed_s{};        ///< time of the step beyond its computation
  std::string reason{};                     ///< why there is no prediction
};

struct PredictedCurve {
  std::size_t index = 0;  ///< of the curve in the input; each algorithm gives a curve here
  CurveInput batches{};
  std::string algorithm{};
  std::vector<PredictedPoint> points{};
};

/// A step with another way of parallelism, for one curve.
struct WayPoint {
  std::size_t index = 0;  ///< of the curve in the input
  std::string way{};
  int ranks = 0;
  std::optional<std::int64_t> batch{};
  std::optional<double> step_s{}, images_per_s{}, communication_s{};
  std::optional<double> efficiency{};  ///< relative to ranks that only compute
  std::string reason{};
};

/// The messages of one step with which ranks agree on the order of their tensors.
struct ControlPoint {
  std::string way{};
  int ranks = 0;
  double messages = 0;    ///< of the busiest rank
  double seconds = 0;     ///< until all ranks know the whole order
  double efficiency = 0;  ///< upper bound: for a step that takes at least this long
};

/// Nodes that stage their data before they train.
struct StagingPoint {
  int nodes = 0;
  std::optional<double> seconds{}, node_bytes{}, bytes_per_s{};  ///< bytes_per_s: of all nodes
  std::string reason{};
};

/// A published point beside its prediction.
struct ComparedPoint {
  PublishedPoint published;
  std::optional<double> predicted{}, error{};  ///< error: predicted / published - 1
};

struct ScalingDocument {
  std::string name, description, command;
  int reference_ranks = 0;
  std::vector<Source> inputs;
  std::vector<AlgorithmCost> algorithms{};
  std::vector<PredictedCurve> curves{};
  std::vector<WayPoint> ways{};
  std::vector<ControlPoint> control{};
  std::vector<StagingPoint> staging{};
  std::vector<ComparedPoint> published{};
  std::vector<std::string> notes{};
};

void to_json(nlohmann::json& json, const ScalingDocument& document);

ScalingDocument predict_scaling(const ScalingInput& input, const std::string& command);

/// The document as tables, for people.
std::string render_scaling(const ScalingDocument& document, bool markdown);
/// The points of all curves as CSV (RFC 4180), with all digits.
std::string render_scaling_csv(const ScalingDocument& document);

}  // namespace assay::scaling
