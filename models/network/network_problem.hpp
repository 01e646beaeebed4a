#pragma once
// A step of a network as a problem, which defines its amount of work.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/operation.hpp"
#include "models/network/network.hpp"

namespace assay {

class NetworkProblem final : public Problem {
 public:
  /// `kind`: name of the benchmark. `batch`: images of all ranks in a step.
  NetworkProblem(std::string kind, Network network, std::int64_t batch, bool training);
  std::string kind() const override { return kind_; }
  std::string canonical() const override { return network_.descriptor; }
  nlohmann::json json() const override;
  /// Operations of the convolutions and of the last layer, as their problems count them. A training
  /// step has them forward, for the gradients of inputs (except the first layer's) and for the
  /// gradients of weights.
  double flops() const override;
  double bytes() const override { return 0; }  ///< unknown: depends on fusion
  std::map<std::string, double> amounts() const override;
  /// Bytes of each operation of a step in `precision` with `rank_batch` images on a rank.
  std::vector<double> operation_bytes(std::int64_t rank_batch, Precision precision) const;

 private:
  std::string kind_;
  Network network_;
  std::int64_t batch_;
  bool training_;
};

}  // namespace assay
