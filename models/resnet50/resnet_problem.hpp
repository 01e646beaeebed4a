#pragma once
// A step of a residual network as a problem: what is counted as its work.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/operation.hpp"
#include "models/network/resnet.hpp"

namespace assay {

class ResnetProblem final : public Problem {
 public:
  /// `batch`: images of all ranks in a step.
  ResnetProblem(const ResnetShape& shape, std::int64_t batch, bool training);
  std::string kind() const override { return "resnet50"; }
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;
  /// Multiply-adds of convolutions and of the last layer, two operations each, as their problems
  /// count them; in training forward, for the input's gradient (but the first layer's) and for the
  /// weights'.
  double flops() const override;
  double bytes() const override { return 0; }  ///< depends on what is fused
  std::map<std::string, double> amounts() const override;
  /// Bytes of each operation of a step in `precision`, in which one rank has `rank_batch` images.
  std::vector<double> operation_bytes(std::int64_t rank_batch, Precision precision) const;

 private:
  ResnetShape shape_;
  std::int64_t batch_;
  bool training_;
};

}  // namespace assay
