#pragma once
// All that the timing loop sees of a benchmark, and the one workload that serves every single
// operation.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/backend.hpp"
#include "core/api/oracle.hpp"

namespace assay {

/// The outcome of checking results against the reference.
struct Verification {
  bool passed = false;
  std::string
      reference;  ///< what it was checked against: "fp64, 4096 of 25690112 outputs, exact checksum"
  double max_error = 0;   ///< largest |error| over the RMS of the reference values of the sample
  double norm_error = 0;  ///< ||error||_2 / ||reference||_2 over the sample
  double bound = 0;  ///< the bound of the element with the largest error/bound, over the same RMS
  double norm_bound = 0;  ///< ||rms_bound||_2 / ||reference||_2
  double error_over_bound =
      0;  ///< largest |error| / bound (0/0 = 0; infinite errors are reported as reason, not here)
  std::int64_t checked = 0;  ///< output elements compared with the reference
  std::int64_t outputs = 0;  ///< output elements in total (all are scanned for NaN and infinity)
  std::int64_t wrong_elements = 0;  ///< found by comparison or by the scan, until a check failed
  bool exact = false;               ///< an exact integer pass was part of it
  bool undecided = false;           ///< not passed only because the bound is wider than the results
  std::string reason;  ///< why it failed: "dst[3,1,0,7] is 2.5 (expected 2.25 within 1e-6)…"
  bool wrong() const { return !passed && !undecided; }
};

/// A result of a run other than a rate: an objective, an accuracy, a number of iterations.
struct Metric {
  double value = 0;
  std::string unit;    ///< SI, or of the data; empty: a pure number
  std::string better;  ///< "higher", "lower", or empty where neither is
};

/// One operation among the many of a run, timed in runs of its own.
struct LayerTime {
  std::string layer, direction;    ///< "layer1.0.conv1", "bwd_data"; no two have both
  std::string operation, problem;  ///< kind and descriptor: what a benchmark measures alone
  std::string backend;
  Executed executed;
  int runs = 1;                 ///< in one run of the workload
  double seconds = 0;           ///< of one run of the operation, the median
  double flops = 0, bytes = 0;  ///< Problem::flops(), Problem::bytes()
};

/// What is done to the buffers before a run of the timed phase whose results are then checked.
enum class Audit {
  poisoned_outputs,  ///< outputs hold what no result has: the run must write them all
  new_inputs,        ///< inputs hold other data, outputs what they held: the run must compute anew
};

/// One prepared case. The loop calls reset() untimed and run() timed; a workload may make many
/// steps in one run().
class Workload {
 public:
  virtual ~Workload() = default;
  virtual Stream& stream() = 0;
  /// What counts the energy of its runs: that of its device.
  virtual Result<EnergyMeter*> energy_meter() {
    return Unsupported{"the workload has no device with energy counters"};
  }
  /// Untimed, before each timed iteration: refills in-place buffers, rotates cold buffers.
  virtual void reset() = 0;
  /// Timed. Asynchronous on stream(); allocates nothing.
  virtual void run(Stream& stream) = 0;
  /// Whether iterations may be timed in batches between two marks (reset() does nothing).
  virtual bool batchable() const = 0;
  /// Number of samples that the case asks for, fewer only if time runs out; 0: the timing options
  /// decide.
  virtual int samples() const { return 0; }
  /// Unannounced checks among the timed runs: begin_audit(), then reset() and run() as always, then
  /// end_audit(), which checks the results of that run. All ranks call them together.
  virtual void begin_audit(Audit kind) = 0;
  virtual Verification end_audit() = 0;
  /// Before timing: all checks, and leaves the timed (full-significand) data in place. After
  /// timing: the results of the last timed iteration first, then all checks again.
  virtual Verification verify_before() = 0;
  virtual Verification verify_after() = 0;
  virtual Executed executed() const = 0;
  /// Amount of work in one run by the name of its rate: {"flops_per_s": flops, "bytes_per_s":
  /// bytes, "images_per_s": 32}.
  virtual std::map<std::string, double> work() const = 0;
  /// Results of the timed data that were verified, by name; asked after verify_after(). The same
  /// on every rank.
  virtual std::map<std::string, Metric> metrics() const { return {}; }
  /// For training: numbers by name after each epoch, in order (row.epochs of the result's schema).
  /// Valid when metrics() is.
  virtual std::vector<std::map<std::string, double>> epochs() const { return {}; }
  /// The operations that a run consists of, in order, the same on every rank; valid when metrics()
  /// is. Empty where a run is one operation, or they were not timed.
  virtual std::vector<LayerTime> layers() const { return {}; }
  /// Seconds of preparation by name: {"create": …, "allocate": …, "reorder": …, "fill": …}.
  virtual std::map<std::string, double> setup() const = 0;
};

/// How an OperationWorkload is prepared.
struct OperationSetup {
  bool cold = false;  ///< rotate through sets of buffers larger than twice the largest cache
  std::uint64_t seed = 1;
  double reference_budget = 2e7;  ///< multiply-adds of the fp64 reference per check
  int threads = 0;     ///< that OpenMP was seen to give, for the row's "executed"; 0: not asked
  int ranks_here = 1;  ///< ranks that share this host's memory
  int rank = 0;  ///< whose data: Values::of_rank; an oracle reaches the other ranks' the same way
};

/// One operation of one backend: conv, gemm, rnn, a collective. Checks memory before it allocates
/// (CaseError with need and what there is), verifies every buffer set, times one run of the
/// operation.
std::unique_ptr<Workload> operation_workload(const Problem& problem,
                                             std::unique_ptr<Operation> operation, Device& device,
                                             std::unique_ptr<Oracle> oracle, double create_seconds,
                                             const OperationSetup& setup);

}  // namespace assay
