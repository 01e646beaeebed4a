#pragma once
// assay-conv.

#include <memory>
#include <string>
#include <vector>

#include "core/program/benchmark.hpp"

namespace assay {

class ConvBenchmark final : public OperationBenchmark {
 public:
  std::string name() const override { return "conv"; }
  std::string description() const override;
  std::vector<Dimension> dimensions() const override;
  std::string canonical(const std::string& descriptor) const override;
  std::unique_ptr<Problem> problem(const Settings& settings) const override;
  std::unique_ptr<Oracle> oracle(const Problem& problem) const override;
};

}  // namespace assay
