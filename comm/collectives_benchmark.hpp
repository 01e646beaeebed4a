#pragma once
// assay-collectives.

#include <memory>
#include <string>
#include <vector>

#include "core/program/benchmark.hpp"

namespace assay {

class CollectivesBenchmark final : public Benchmark {
 public:
  std::string name() const override { return "collectives"; }
  std::string description() const override;
  std::vector<Dimension> dimensions() const override;
  /// "400000" or "400KiB": bytes. "n100000": elements, whatever their type (complete() makes them
  /// bytes).
  std::string canonical(const std::string& descriptor) const override;
  void complete(Settings& settings, const RankCount& started) const override;
  std::unique_ptr<Problem> problem(const Settings& settings) const override;
  Result<std::unique_ptr<Workload>> prepare(const Case& one, CaseContext& context) const override;
  /// The ranks of an MPI launcher, by an MPI plugin that understands it; without a launcher rank 0
  /// of 1.
  std::unique_ptr<Communicator> connect(Plugins& plugins) const override;
};

}  // namespace assay
