#pragma once
// A benchmark that trains one network, or runs its inference. A derived class supplies the network.

#include <string>
#include <vector>

#include "core/program/benchmark.hpp"
#include "models/network/definition.hpp"
#include "models/network/network.hpp"

namespace assay {

class NetworkBenchmark : public Benchmark {
 public:
  /// --problem and the flags of its fields. The fields must include `s` (side of an image) and `c`
  /// (classes): the checks of the data read them from the text of --problem.
  virtual std::vector<Dimension> problem_dimensions() const = 0;
  virtual Network network(const std::string& problem) const = 0;
  virtual NetworkDefinition definition(const std::string& problem) const = 0;

  std::vector<Dimension> dimensions() const final;
  std::any complete(Settings& settings, const RankCount& started) const final;
  void expect_compatible(const std::vector<Case>& cases) const final;
  bool ranks_share(const Case&) const final { return true; }
  std::vector<std::string> step_parameters(const Case& selected) const final;
  std::string exit_codes() const final { return ", 9 a training missed its target"; }
  std::string row_label(const Row& row) const final;
  std::vector<std::string> candidates(const Case& selected) const final;
  std::shared_ptr<const Problem> problem(const Case& selected) const final;
  std::vector<double> working_sets(const Case& selected) const final;
  Result<std::unique_ptr<Workload>> prepare(const Case& selected, CaseContext& context) const final;
  std::unique_ptr<Communicator> connect(Plugins& plugins) const final;
};

}  // namespace assay
