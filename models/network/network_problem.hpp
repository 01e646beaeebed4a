#pragma once
// Steps of a network as a problem, which defines their amount of work.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/api/operation.hpp"
#include "models/network/network.hpp"

namespace assay {

/// The traffic of a rank's weights, gradients and state, if each rank has the whole network.
struct StepTraffic {
  Precision precision = Precision::fp32;
  Learning learning{};
  int ranks = 1;
  std::int64_t accumulated = 1;  ///< passes before an update
};

class NetworkProblem final : public Problem {
 public:
  /// `kind`: name of the benchmark. `batch`: images of all ranks in a step. `steps`: of a run.
  /// Its bytes are unknown without `traffic`.
  NetworkProblem(std::string kind, Network network, std::int64_t batch, bool training,
                 std::int64_t steps = 1, std::optional<StepTraffic> traffic = std::nullopt);
  std::string kind() const override { return kind_; }
  std::string canonical() const override { return network_.descriptor; }
  nlohmann::json json() const override;
  /// Operations of the convolutions and of the last layer, as their problems count them. A training
  /// step needs them three times: forward, for the gradients of inputs (except the first layer's),
  /// and for the gradients of weights.
  double flops() const override;
  /// Bytes of all ranks that no fusion can save: weights that products read, their gradients, and
  /// the update. 0: unknown.
  double bytes() const override;
  std::map<std::string, double> amounts() const override;
  /// Bytes of each operation of a step in `precision` with `rank_batch` images on a rank, and bytes
  /// of one of the passes() over the memory that bytes() counts.
  std::vector<double> working_sets(std::int64_t rank_batch, Precision precision) const;

 private:
  /// Number of times that bytes() counts the same memory; caches may save a part of it each time.
  double passes() const;

  std::string kind_;
  Network network_;
  std::int64_t batch_;
  bool training_;
  std::int64_t steps_;
  std::optional<StepTraffic> traffic_;
};

}  // namespace assay
