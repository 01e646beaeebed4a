#pragma once
// A benchmark: one executable `assay-<name>`. It declares its dimensions, understands its problems
// and prepares workloads; core does the rest (flags, suites, lists, verification, timing, rows,
// files, exit code).

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/measure/case.hpp"
#include "core/measure/workload.hpp"
#include "core/program/command.hpp"
#include "core/program/plugins.hpp"

namespace assay {

/// What a case is prepared with.
struct CaseContext {
  Plugins& plugins;
  Communicator& ranks;
  std::uint64_t seed = 1;
  double reference_budget = 2e7;
  int ranks_here = 1;  ///< ranks on this host, which share its memory
  /// Transports that a benchmark has joined, by its own name for them: joining takes long, so the
  /// cases share them.
  std::map<std::string, std::unique_ptr<Communicator>> joined{};
};

/// How many processes a launcher has started.
struct RankCount {
  int ranks = 1, nodes = 1;
};

class Benchmark {
 public:
  virtual ~Benchmark() = default;
  virtual std::string name() const = 0;         ///< "conv"
  virtual std::string description() const = 0;  ///< one line for --help
  /// Command lines that --help shows; each works as printed. Default: what every benchmark can do.
  virtual std::vector<Example> examples() const;
  /// In the order of the id. Ready-made ones for the axes that all share are below.
  virtual std::vector<Dimension> dimensions() const = 0;
  /// The canonical form of a problem descriptor; throws InputError naming the field that is wrong.
  virtual std::string canonical(const std::string& descriptor) const = 0;
  /// The descriptors that `text` stands for, each for canonical(): several for a range of sizes
  /// ("8:64M:2"). By default the text itself.
  virtual std::vector<std::string> descriptors(const std::string& text) const { return {text}; }
  /// Completes the settings before the id is made: a setting without meaning gets one value, so
  /// that equal work is one case; axes that this function determines get theirs. InputError for
  /// settings that are impossible together.
  virtual void complete(Settings&, const RankCount&) const {}
  /// The problem of a case, or null for workloads that are no single problem.
  virtual std::unique_ptr<Problem> problem(const Settings& settings) const = 0;
  /// Whether the problem of a case is what all ranks do together; else each rank has its own.
  virtual bool ranks_share(const Settings&) const { return false; }
  /// Whether a case trains something: its row then tells which dimensions say what a step computes
  /// (Dimension::in_step), so that its rate is set beside the convergence of the same steps.
  virtual bool trains(const Settings&) const { return false; }
  /// Bytes that a rank of a case uses at a time, in one run or in each of its operations: which
  /// levels of memory may bound it. Unknown ones are left out. By default the bytes of the problem.
  virtual std::vector<double> working_sets(const Settings& settings) const;
  virtual Result<std::unique_ptr<Workload>> prepare(const Case& benchmark_case,
                                                    CaseContext& context) const = 0;
  /// The ranks that a launcher started, as one job: the runner itself communicates through it
  /// (agreement, slowest rank). A benchmark of transports connects those per case, in prepare().
  /// Default: the serial one.
  virtual std::unique_ptr<Communicator> connect(Plugins& plugins) const;
};

namespace dimension {
/// Values: the backends that have `operation` ("conv"), whether they were built here or not. A
/// suite is the same on every machine: a backend that was not built is `unsupported`, not bad
/// usage.
Dimension backend(const std::string& operation, std::vector<std::string> defaults);
/// Names of the backends that have this operation, built here or not ("collectives": the
/// transports; "launched ranks": those that join what a launcher has started without another's
/// help).
std::vector<std::string> backends_of(const std::string& operation);
Dimension precision(std::vector<std::string> values, std::vector<std::string> defaults);
Dimension algorithm(
    std::vector<std::string> values);  ///< default auto; names of loaded backends are valid too
Dimension problem(std::vector<std::string> defaults);
/// A flag for one field of the problem's descriptor: --depth 18 for field "d" is d18 in --problem.
Dimension field(std::string name, std::string field, std::string help,
                std::string shown_default = "", std::vector<std::string> values = {});
Dimension cache();                                  ///< hot | cold
Dimension threads();                                ///< default: processors this process may use
Dimension layout(std::vector<std::string> values);  ///< default any, left out of the id
Dimension device();                                 ///< cpu | gpu, cpu left out of the id
/// none | the procurements that prescribe a case of `benchmark` (core/program/conform.hpp); none is
/// left out of the id.
Dimension conform(const std::string& benchmark);
}  // namespace dimension

/// A benchmark of single operations: give the problem and the oracle, get prepare().
class OperationBenchmark : public Benchmark {
 public:
  virtual std::unique_ptr<Oracle> oracle(const Problem& problem) const = 0;
  Result<std::unique_ptr<Workload>> prepare(const Case& benchmark_case,
                                            CaseContext& context) const final;
};

/// The whole of main().
int benchmark_main(const Benchmark& benchmark, int argc, const char* const* argv);

}  // namespace assay
