#pragma once
// A burn-in: a case runs again and again on inputs that repeat. After every run, all outputs must
// have the same bits as after the first run on the same inputs, which the oracle has verified.

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// The bytes of an output.
struct BurnOutput {
  TensorSpec spec;
  std::vector<std::byte> bytes;
};

/// A workload as a burn-in repeats it.
class BurnTarget {
 public:
  struct Data {
    std::string name;    ///< "integers", "constant", "random"
    bool exact = false;  ///< the arithmetic is exact: sums in any order have the same bits
  };
  virtual ~BurnTarget() = default;
  /// The kinds of inputs.
  virtual std::vector<Data> burn_data() = 0;
  /// Row-major indices, by output; positions in memory for an output with a layout.
  using Elements = std::vector<std::vector<std::int64_t>>;
  /// Writes inputs of a kind, the same in each call, and destroys the outputs.
  virtual void load_data(std::size_t kind) = 0;
  /// Restores the inputs that a run overwrites. Called before each run.
  virtual void restore() = 0;
  /// Destroys the outputs, so that a run that does not write them is noticed.
  virtual void poison_outputs() = 0;
  /// One run, until it has ended.
  virtual void run_once() = 0;
  /// A hash of all outputs: of all bits if the host can read the device's memory, else of the sum
  /// of all elements.
  virtual std::uint64_t digest() = 0;
  virtual std::vector<BurnOutput> outputs() = 0;
  /// Compares the outputs with the reference, as any check of the case does.
  virtual Verification check_outputs() = 0;
  /// True if outputs are wrong beyond their bounds; only these elements have changed.
  virtual bool is_wrong(const Elements& /*changed*/) { return check_outputs().wrong(); }
};

/// A run whose outputs differ from those of the first run on the same inputs.
struct BurnFault {
  double unix_s = 0;
  int rank = 0;
  std::string host{}, data{};
  std::string place{};  ///< "dst[3,1,0,7]", or the first byte of a layout without indices
  std::string expected{}, actual{}, differing_bits{};  ///< of that element, in hexadecimal
  double elements = 0;                                 ///< that differ
  std::string device{};      ///< its address, if a host may have several; else empty
  std::string processors{};  ///< the one of the submitting thread, and those that it may use
  std::optional<double> temperature_celsius{}, clock_hz{};  ///< of the device, or of the host
  std::string remark{};                                     ///< result of repeating the run
};

/// The findings of a burn-in. Numbers of several ranks are those of all of them together.
struct Burn {
  struct Kind {
    std::string name{};
    bool exact = false;
    double runs = 0, poisoned = 0, seconds = 0, faulty = 0, undecided = 0;
    std::string excluded{};  ///< why it was not used any more
  };
  /// A part of the burn-in that used all kinds of data, each with full load and with pauses, for
  /// equal times. So windows differ only in what changes with time. An incomplete window is
  /// dropped, and so are all windows before some data was excluded.
  struct Window {
    double unix_s = 0;             ///< its end
    double seconds = 0, runs = 0;  ///< of the runs alone, of one device
  };
  double started_unix_s = 0;
  std::string device{};               ///< "cpu", "gpu"
  std::vector<std::string> places{};  ///< by rank: "host: processors 0-3"
  double wall_s = 0;                  ///< of everything
  double seconds = 0;                 ///< of the runs that count, of one device
  double check_s = 0;                 ///< of the checks after them, of one device
  double runs = 0;                    ///< that count, of all devices
  double poisoned = 0;                ///< of these, on poisoned outputs; only they show lost stores
  /// Runs that are certainly wrong: on exact data, or beyond the bounds of errors.
  double faulty = 0;
  /// Runs that differ within the bounds of errors: a wrong low bit, or sums in another order.
  double undecided = 0;
  std::vector<Kind> data{};
  std::vector<Window> windows{};
  std::vector<BurnFault> faults{};          ///< the first ones
  std::map<std::string, double> power_w{};  ///< mean, by energy counter of the first host
  double device_hours = 0;
  std::optional<double> faults_per_device_hour{}, limit_per_device_hour{};  ///< the latter at 95 %
};

/// Burns for this many seconds. Collective. Equal on all ranks. Throws WrongResult if the first run
/// on some data is wrong. Unsupported if the workload cannot be repeated. `unfinished`: if a later
/// run of a single rank throws, set to the findings so far.
Result<Burn> burn(Workload& workload, Communicator& ranks, double seconds,
                  std::optional<Burn>* unfinished = nullptr);

/// The verdict on a burn-in. `reason`: a sentence for the row; "" if all is well.
struct BurnVerdict {
  bool wrong = false, unsupported = false;
  std::string reason{};
};
BurnVerdict judge(const Burn& burn);
/// True if the runs on this data count. They do not if results differ from the first runs on.
bool counts(const Burn::Kind& data);

/// The upper 95 % limit of a rate: `events` in `hours` (exact Poisson, one-sided: chi-square
/// quantile of 2 (events + 1) degrees of freedom over 2 hours). Infinite for no hours.
double compute_poisson_limit(double events, double hours);

/// A hash of bytes, computed by OpenMP threads. A change of a single word always changes it; any
/// other change does so except with probability 2^-64.
std::uint64_t hash_bytes(const void* data, std::size_t bytes);

/// Sets place, expected, actual, differing_bits and elements of `fault` from two copies of outputs.
/// Returns the elements that differ: for each output all, or many of them spread from first to
/// last.
BurnTarget::Elements locate(const std::vector<BurnOutput>& actual,
                            const std::vector<BurnOutput>& expected, BurnFault& fault);

// Each as it stands in a row, and back.
void to_json(nlohmann::json& json, const BurnFault& fault);
void from_json(const nlohmann::json& json, BurnFault& fault);
void to_json(nlohmann::json& json, const Burn& burn);
void from_json(const nlohmann::json& json, Burn& burn);

}  // namespace assay
