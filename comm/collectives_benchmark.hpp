#pragma once
// assay-collectives.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/collective.hpp"
#include "comm/replay_workload.hpp"
#include "core/program/benchmark.hpp"

namespace assay {

struct CollectivesSettings {
  std::shared_ptr<const CollectiveProblem> problem{};
  std::optional<ReplaySettings> replay{};
  int group = 0;  ///< ranks of a group, if groups call at the same time; 0: one call of all ranks
  bool rails = false;  ///< a group has every n-th rank; false: consecutive ranks
};

class CollectivesBenchmark final : public Benchmark {
 public:
  std::string name() const override { return "collectives"; }
  std::string description() const override;
  std::vector<Dimension> dimensions() const override;
  /// A message size in bytes ("400000", "64K"), or in elements ("n100000"), which complete() turns
  /// into bytes once the element type is known.
  std::string canonical(const std::string& descriptor) const override;
  /// The sizes of a range in bytes ("8:64M:2").
  std::vector<std::string> descriptors(const std::string& text) const override;
  std::any complete(Settings& settings, const RankCount& started) const override;
  std::shared_ptr<const Problem> problem(const Case& selected) const override;
  Result<std::unique_ptr<Workload>> prepare(const Case& wanted,
                                            CaseContext& context) const override;
  /// The ranks that an MPI launcher started, connected by the MPI plugin that supports the
  /// launcher. One rank without a launcher.
  std::unique_ptr<Communicator> connect(Plugins& plugins) const override;
};

}  // namespace assay
