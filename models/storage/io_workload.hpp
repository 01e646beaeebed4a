#pragma once
// The common part of the operations of assay-io: evidence that each run reached storage, and the
// order of the checks.

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/api/communicator.hpp"
#include "core/api/host_device.hpp"
#include "core/measure/case.hpp"
#include "core/measure/workload.hpp"
#include "models/storage/contents.hpp"
#include "models/storage/io_problem.hpp"
#include "models/storage/job_folder.hpp"
#include "models/storage/storage_counter.hpp"

namespace assay {

/// Distance in bytes between two places of random reads of `block` bytes: no two reads share a page
/// of the cache.
std::int64_t place_bytes(std::int64_t block);

/// The settings of the runs.
struct IoSettings {
  IoSize size;
  int ranks = 1;
  /// Bytes of the file of a rank.
  std::int64_t bytes_of(int rank) const;
};

/// The claims of a case, read from its texts and not from the settings of the runs. Only the judge
/// uses them.
struct IoClaims {
  std::string operation;
  std::int64_t bytes = 0;             ///< of all ranks
  std::int64_t count = 0, block = 0;  ///< of each rank; bytes of a read
  int ranks = 1;
  explicit IoClaims(const Settings& settings);
  /// Bytes of the file of a rank.
  std::int64_t count_bytes(int rank) const;
};

struct IoSetup {
  IoSettings settings;
  IoClaims claims;
  std::uint64_t seed = 1;
  int ranks_here = 1;
  std::string folder;         ///< --folder
  std::string file_system;    ///< its name
  bool device_counts = true;  ///< the device's counters can be used
};

/// The results of writing, syncing, dropping from the cache and rereading a file of 1 MiB.
struct StorageProbe {
  /// Why the rates of a folder would not be those of storage (its file system counts no bytes), or
  /// "".
  std::string why_no_storage;
  bool device_counts = false;  ///< its device counts, too (queue/iostats may disable this)
};

/// `rank`: makes file names unique; processes in other containers may have the same number.
StorageProbe probe_storage(const std::filesystem::path& folder, const std::string& file_system,
                           int rank);

/// A derived class implements the operation. Each rank reads the files that the next rank has
/// written.
class IoWorkload : public Workload {
 public:
  IoWorkload(const IoSetup& setup, std::unique_ptr<JobFolder> folder, Communicator& ranks);

  Stream& stream() final { return device_.stream(); }
  Result<EnergyMeter*> energy_meter() final { return device_.energy_meter(); }
  std::optional<DeviceState> device_state() final { return device_.state(); }
  bool batchable() const final { return false; }
  void reset() final;
  void run(Stream& stream) final;
  std::map<std::string, double> take_done() final;
  void begin_audit(Audit kind) final;
  Verification end_audit() final;
  Verification verify_before() final;
  Verification verify_after() final;
  Execution execution() const final;
  std::map<std::string, double> work() const final { return {}; }
  std::map<std::string, Metric> metrics() const final { return metrics_; }
  std::map<std::string, double> setup() const final { return seconds_; }

 protected:
  using Amounts = std::map<std::string, double>;

  /// Untimed, before each run: removes the results of the last run, and drops the files to read
  /// from the cache.
  virtual void prepare_run() = 0;
  virtual void time_run() = 0;
  /// The work of the last run on this rank, by the names of the rates, determined from its results.
  virtual Amounts done() = 0;
  /// Bytes that a run must move on this rank, according to the claims.
  virtual StorageBytes expected_bytes() const = 0;
  /// True if a run syncs its results, so that the device must have written something.
  virtual bool syncs() const { return false; }
  /// Bytes of the last run that have not reached storage.
  virtual double unwritten() const { return 0; }
  /// Makes new inputs. Collective.
  virtual void renew() {}
  /// Checks all bytes of the last run, which all ranks have ended. Collective.
  virtual Verification judge() = 0;
  virtual std::string method() const = 0;
  /// Metrics of the timed runs. Collective.
  virtual std::map<std::string, Metric> own_metrics() { return {}; }
  /// Called before the timed runs.
  virtual void forget_times() {}

  int source() const { return (ranks_.rank() + 1) % ranks_.size(); }  ///< of the file to read
  std::uint64_t make_key(std::uint64_t generation, int file) const {
    return contents_key(setup_.seed, generation, file);
  }
  double largest(double value) const;  ///< of all ranks
  bool checked() const { return checked_; }
  /// Makes the row incorrect, on all ranks. "": no fault.
  void note_fault(const std::string& why) {
    if (fault_.empty()) fault_ = why;
  }
  /// Notes a fault if fewer bytes were moved than expected. `least`: smallest ratio so far.
  void weigh(double moved, double expected, const char* how, double& least);
  /// CaseError unless memory suffices for `of_rank` bytes on each rank.
  void expect_memory(double of_rank) const;

  const IoSetup setup_;
  Communicator& ranks_;
  HostDevice device_;
  const std::unique_ptr<JobFolder> folder_;
  std::map<std::string, double> seconds_;

 private:
  void count();
  Verification judge_run();
  Verification verify_run();

  StorageCounter counter_;
  bool ran_ = false;      ///< the last run is not yet counted
  bool checked_ = false;  ///< end_audit() reports the run's failure
  bool timed_ = false;    ///< timed runs have begun
  std::exception_ptr failure_;
  Amounts done_;
  std::string fault_;                            ///< why a run was not one of storage
  double storage_ratio_ = 0, device_ratio_ = 0;  ///< smallest of all runs
  std::map<std::string, Metric> metrics_;
};

std::unique_ptr<Workload> write_workload(const IoSetup& setup, std::unique_ptr<JobFolder> folder,
                                         Communicator& ranks);
std::unique_ptr<Workload> read_workload(const IoSetup& setup, std::unique_ptr<JobFolder> folder,
                                        Communicator& ranks);
std::unique_ptr<Workload> make_metadata_workload(const IoSetup& setup,
                                                 std::unique_ptr<JobFolder> folder,
                                                 Communicator& ranks);
std::unique_ptr<Workload> make_random_workload(const IoSetup& setup,
                                               std::unique_ptr<JobFolder> folder,
                                               Communicator& ranks);

}  // namespace assay
