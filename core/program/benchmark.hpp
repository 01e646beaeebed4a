#pragma once
// A benchmark is one executable, `assay-<name>`. It declares its dimensions, parses its problem
// descriptors and prepares workloads. Core does everything else: flags, suites, lists of problems,
// verification, timing, rows, files, exit code.

#include <any>
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

struct Row;

/// The arguments of Benchmark::prepare besides the case; shared by the cases of a process.
struct CaseContext {
  Plugins& plugins;
  Communicator& ranks;
  std::uint64_t seed = 1;
  double reference_budget = 2e7;  ///< most multiply-adds of the fp64 reference in one check
  int ranks_here = 1;             ///< ranks on this host, which share its memory
  /// Transports that the benchmark has connected, by a name that it chooses. Connecting takes long,
  /// so cases share them.
  std::map<std::string, std::unique_ptr<Communicator>> joined{};
};

/// The number of processes that a launcher started, and the number of their nodes.
struct RankCount {
  int ranks = 1, nodes = 1;
  Communicator* together = nullptr;  ///< of these processes, if complete() may use it
};

class Benchmark {
 public:
  virtual ~Benchmark() = default;
  virtual std::string name() const = 0;         ///< "conv"
  virtual std::string description() const = 0;  ///< one line for --help
  /// Command lines that --help shows; each must work as printed. The default is the flags that work
  /// for every benchmark.
  virtual std::vector<Example> examples() const;
  /// The exit codes that --help shows beside those of every benchmark: ", 9 a target was missed".
  virtual std::string exit_codes() const { return ""; }
  /// The dimensions in the order of the id. The namespace `dimension` below has those that
  /// benchmarks share.
  virtual std::vector<Dimension> dimensions() const = 0;
  /// The canonical form of a problem descriptor. Throws InputError that names the invalid field.
  virtual std::string canonical(const std::string& descriptor) const = 0;
  /// The descriptors that a text denotes, each valid for canonical(); several for a range of sizes
  /// ("8:64M:2"). The default is the text itself.
  virtual std::vector<std::string> descriptors(const std::string& text) const { return {text}; }
  /// Completes the settings of a case before its id is made: sets the dimensions that are
  /// `determined`, and gives a dimension that has no effect a fixed value, so that equal work has
  /// one id. Returns them as a struct of the benchmark's own, which becomes Case::typed: the
  /// functions below take their values from there (typed_settings()). Throws InputError for
  /// settings that exclude each other. If it makes collective calls, all processes make the same
  /// ones.
  virtual std::any complete(Settings&, const RankCount&) const { return {}; }
  /// Throws InputError for cases that one command cannot run together: two cases that write one
  /// file.
  virtual void expect_compatible(const std::vector<Case>&) const {}
  /// The problem of a case; null if the workload is not a single problem.
  virtual std::shared_ptr<const Problem> problem(const Case& benchmark_case) const = 0;
  /// True if all ranks solve the problem of a case together; else each rank solves its own.
  virtual bool ranks_share(const Case&) const { return false; }
  /// The sorted names of the dimensions that determine what a step of the case computes. A row
  /// contains them, so that a throughput can be shown beside the convergence of the same steps. By
  /// default none.
  virtual std::vector<std::string> step_parameters(const Case&) const { return {}; }
  /// Words after the rates of a printed row; by default none.
  virtual std::string row_label(const Row&) const { return ""; }
  /// The plugins that a case may use beside those that its settings name.
  virtual std::vector<std::string> candidates(const Case&) const { return {}; }
  /// Bytes that a rank uses in one run, or in each of the run's operations. They determine which
  /// levels of memory can limit the case. Unknown ones are omitted. The default is the problem's
  /// bytes.
  virtual std::vector<double> working_sets(const Case& benchmark_case) const;
  /// Makes the workload of a case, or gives the reason why it is unsupported.
  virtual Result<std::unique_ptr<Workload>> prepare(const Case& benchmark_case,
                                                    CaseContext& context) const = 0;
  /// The communicator over the launched ranks through which the runner itself communicates (the
  /// status of ranks, their times). A benchmark of transports connects its transports in prepare().
  /// The default is the serial one.
  virtual std::unique_ptr<Communicator> connect(Plugins& plugins) const;
};

namespace dimension {
/// Its values are the backends that implement `operation` ("conv"), including those that were not
/// built: a suite is valid on every machine, and a backend that was not built is `unsupported`.
Dimension backend(const std::string& operation, std::vector<std::string> defaults);
/// Names of the backends that implement `operation`, including those that were not built.
/// "collectives": the transports. Backends also declare (cmake/AssayBackend.cmake):
/// - "launched ranks": transports that connect launched processes without another one's help;
/// - "reference": computes every kind of problem in the plainest way, in row-major order;
/// - "networks on cpu", "networks on gpu": has the costly operations of networks;
/// - "fallback": computes what the chosen backend lacks.
/// They are in the order of their names.
std::vector<std::string> list_backends(const std::string& operation);
/// True if the operations of the backend are known; those of foreign plugins are not.
bool is_known_backend(const std::string& name);
Dimension precision(std::vector<std::string> values, std::vector<std::string> defaults);
/// Default auto. The names of algorithms of loaded backends are valid, too.
Dimension algorithm(std::vector<std::string> values);
Dimension problem(std::vector<std::string> defaults);
/// A flag for one field of the problem's descriptor: --depth 18 for field "d" is d18 in --problem.
Dimension field(std::string name, std::string field, std::string help,
                std::string shown_default = "", std::vector<std::string> values = {});
Dimension cache();                                  ///< hot | cold
Dimension threads();                                ///< default: processors this process may use
Dimension smt();                                    ///< default any, which the id omits
Dimension layout(std::vector<std::string> values);  ///< default any, which the id omits
Dimension device();                                 ///< cpu | gpu; the id omits cpu
/// none | the procurements that prescribe a case of `benchmark` (core/program/conform.hpp). The id
/// omits none.
Dimension conform(const std::string& benchmark);
/// The dimension as one that describes the system, not the work (Dimension::Traits::of_system).
Dimension of_system(Dimension axis);
/// The same, under the heading "Backend" in --help.
Dimension of_backend(Dimension axis);
}  // namespace dimension

/// The settings of a case, as its benchmark's complete() has returned them.
template <class Typed>
const Typed& typed_settings(const Case& benchmark_case) {
  return std::any_cast<const Typed&>(benchmark_case.typed);
}

/// Completes the settings and returns their case, without id and names.
Case make_case(const Benchmark& benchmark, Settings settings, const RankCount& started = {});

/// A benchmark of single operations: a derived class provides make_problem() and oracle(), and
/// prepare() is made from them.
class OperationBenchmark : public Benchmark {
 public:
  /// Completes the settings of a case, as Benchmark::complete() does, and makes its problem.
  /// `threads`: of the case; 0 if the text is not a number (auto), in which case the function sets
  /// both it and the setting.
  virtual std::unique_ptr<Problem> make_problem(Settings& settings, int& threads) const = 0;
  virtual std::unique_ptr<Oracle> oracle(const Problem& problem) const = 0;
  std::any complete(Settings& settings, const RankCount& started) const final;
  std::shared_ptr<const Problem> problem(const Case& benchmark_case) const final;
  Result<std::unique_ptr<Workload>> prepare(const Case& benchmark_case,
                                            CaseContext& context) const final;
  /// The workload of a problem on the backend that the settings of `options` name. The setting
  /// "threads" is taken as 0 if the operation has no such dimension.
  Result<std::unique_ptr<Workload>> prepare(const Problem& problem, Options options, bool cold,
                                            CaseContext& context) const;
};

/// The main() of a benchmark's program. Returns the exit code.
int benchmark_main(const Benchmark& benchmark, int argc, const char* const* argv);

}  // namespace assay
