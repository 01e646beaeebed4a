#pragma once
// The interface between a benchmark and the timing loop, and the workload of a single operation.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/api/backend.hpp"
#include "core/api/oracle.hpp"
#include "core/measure/arrival.hpp"
#include "core/measure/epoch.hpp"

namespace assay {

/// The outcome of checking results against the reference.
struct Verification {
  bool passed = false;
  /// The reference of the comparison: "fp64, 4096 of 25690112 outputs, exact checksum".
  std::string reference;
  double max_error = 0;   ///< largest |error| / (RMS of the reference values of the sample)
  double norm_error = 0;  ///< ||error||_2 / ||reference||_2 over the sample
  double bound = 0;       ///< bound of the element with the largest error / bound, over that RMS
  double norm_bound = 0;  ///< ||rms_bound||_2 / ||reference||_2
  /// Largest |error| / bound. 0/0 counts as 0; an infinite error is in `reason`, not here.
  double error_over_bound = 0;
  std::int64_t checked = 0;         ///< output elements that were compared with the reference
  std::int64_t outputs = 0;         ///< all output elements (each is checked for NaN and infinity)
  std::int64_t wrong_elements = 0;  ///< found until a check failed; later checks are not made
  bool exact = false;               ///< includes a pass with integer inputs and bounds of 0
  bool undecided = false;           ///< failed only because the bounds are larger than the results
  bool target_missed = false;       ///< right, but training did not reach its target
  std::string reason;  ///< why it failed: "dst[3,1,0,7] is 2.5 (expected 2.25 within 1e-6)…"
  bool wrong() const { return !passed && !undecided && !target_missed; }
  /// Fails for this reason, unless it has failed before or `why` is empty.
  void fail(const std::string& why) {
    if (!passed || why.empty()) return;
    passed = false;
    reason = why;
  }
};

/// A result other than a rate: an objective, an accuracy, a number of iterations.
struct Metric {
  double value = 0;
  std::string unit;    ///< SI unit, or the unit of the data; empty: a pure number
  std::string better;  ///< "higher", "lower", or empty if neither is better
};

/// The time of one operation of a network, measured in separate runs.
struct LayerTime {
  std::string layer, direction;    ///< "layer1.0.conv1", "bwd_data"; together unique
  std::string operation, problem;  ///< kind and descriptor, as a benchmark of this kind has them
  std::string backend;
  Execution execution;
  int runs = 1;                 ///< its runs in one run of the workload
  double seconds = 0;           ///< median of one run of the operation
  std::string host_included{};  ///< why that may contain the time of the host; "" if it does not
  double flops = 0, bytes = 0;  ///< Problem::flops(), Problem::bytes()
};

/// The state in which an audit leaves the buffers of a run whose results are then checked.
enum class Audit {
  poisoned_outputs,  ///< outputs are filled with poison(): the run must write all of them
  new_inputs,        ///< inputs get other data, outputs stay: the run must compute new results
};

/// One prepared case. The timing loop calls reset() untimed and run() timed. One run() may contain
/// many steps.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual Stream& stream() = 0;
  /// The device on which it runs; null if it has none.
  virtual Device* device() { return nullptr; }
  /// The meter of the energy of its runs: that of its device.
  virtual Result<EnergyMeter*> energy_meter() {
    if (device() != nullptr) return device()->energy_meter();
    return Unsupported{"the workload has no device with energy counters"};
  }
  /// The state of its device now.
  virtual std::optional<DeviceState> device_state() {
    return device() != nullptr ? device()->state() : std::nullopt;
  }
  /// The errors and links of its device now.
  virtual std::optional<DeviceHealth> device_health() {
    return device() != nullptr ? device()->health() : std::nullopt;
  }
  /// As a burn-in (core/measure/burn.hpp) repeats it, or the reason why none can.
  virtual Result<class BurnTarget*> burn_target() {
    return Unsupported{"runs of this workload do not repeat bit by bit: it has no burn-in"};
  }
  /// Untimed, before each timed iteration: refills in-place buffers, binds the next cold set.
  virtual void reset() = 0;
  /// Timed. Asynchronous on stream(); allocates no memory. May throw WrongResult.
  virtual void run(Stream& stream) = 0;
  /// Lets each following run() be submitted as one recording of it (Stream::record). False if it
  /// cannot be, or need not be the same work each time. Called after runs, while the stream idles.
  virtual bool record() { return false; }
  /// True if several runs may be timed together, between two marks and without reset() between
  /// them.
  virtual bool batchable() const = 0;
  /// The exact number of samples that the case needs (fewer only if time runs out); 0: the timing
  /// options decide.
  virtual int samples() const { return 0; }
  /// An audit at an unannounced moment: begin_audit(), then reset() and run() as for a sample, then
  /// end_audit(), which checks the results of that run. Collective: if the run fails on one rank,
  /// end_audit() is called on none.
  virtual void begin_audit(Audit kind) = 0;
  virtual Verification end_audit() = 0;
  /// Makes all checks, then writes the data of the timed runs (full significands). Collective.
  virtual Verification verify_before() = 0;
  /// Checks the results of the last timed iteration, then makes all checks again. Collective.
  virtual Verification verify_after() = 0;
  virtual Execution execution() const = 0;
  /// Amounts of work of one run, by the names of their rates: {"flops_per_s": flops, "bytes_per_s":
  /// bytes, "images_per_s": 32}. A rate is the amount over the median time.
  virtual std::map<std::string, double> work() const = 0;
  /// The amounts, by the names of work(), that all calls of run() since the last call of this
  /// function have done on all ranks together. They are counted where the work is done (nodes that
  /// ran, passes over a table, images that were taken), never computed from the settings that
  /// work() comes from, and they must be equal to these. "runs": the number of calls themselves,
  /// of a run that is one operation, which cannot do a part of its work, because all of its outputs
  /// are verified. Collective.
  virtual std::map<std::string, double> take_done() { return {}; }
  /// The source that tells when this rank comes to collectives. Equal on all ranks.
  virtual ArrivalSource arrival_source() const { return {}; }
  /// The arrivals in the runs since the last call, as many on all ranks, if they are those of
  /// steps.
  virtual std::vector<Arrival> take_arrivals() { return {}; }
  /// Verified results of the timed runs, by name. Valid after verify_after(), equal on all ranks.
  virtual std::map<std::string, Metric> metrics() const { return {}; }
  /// The epochs of a training, in order. Valid after verify_after().
  virtual std::vector<Epoch> series() const { return {}; }
  /// The operations of a run with their times, in order, equal on all ranks. Empty if a run is a
  /// single operation, or if they were not timed. Valid after verify_after().
  virtual std::vector<LayerTime> layers() const { return {}; }
  /// Seconds of each step of the preparation: {"create": …, "allocate": …, "reorder": …, "fill":
  /// …}.
  virtual std::map<std::string, double> setup() const = 0;
};

/// Settings with which an OperationWorkload is prepared.
struct OperationSetup {
  bool cold = false;  ///< rotate through sets of buffers that together exceed twice the cache
  std::uint64_t seed = 1;
  double reference_budget = 2e7;  ///< most multiply-adds of the fp64 reference in one check
  int threads = 0;     ///< size of the team that OpenMP gave, for the row's "executed"; 0: unknown
  int ranks_here = 1;  ///< ranks that share this host's memory
  int rank = 0;        ///< the rank whose data are written: Values::of_rank
  ArrivalSource arrivals{};  ///< Workload::arrival_source()
};

/// The workload of one operation of one backend (conv, gemm, rnn, a collective); one run is one run
/// of the operation. Throws CaseError, with what is needed and what is available, before it
/// allocates too much memory. `create_seconds`: how long the operation took to create.
std::unique_ptr<Workload> make_operation_workload(const Problem& problem,
                                                  std::unique_ptr<Operation> operation,
                                                  Device& device, std::unique_ptr<Oracle> oracle,
                                                  double create_seconds,
                                                  const OperationSetup& setup);

}  // namespace assay
