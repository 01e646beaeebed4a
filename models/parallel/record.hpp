#pragma once
// The record of asynchronous steps that servers and workers write, and the conditions that it must
// meet.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"

namespace assay {

/// A gradient that a server has applied, or skipped because it was not finite.
struct AppliedGradient {
  std::int64_t server = 0, worker = 0;
  std::int64_t step = 0;     ///< of the worker, from 0
  std::int64_t base = 0;     ///< version of the part with which the gradient was computed
  std::int64_t version = 0;  ///< version of the part after this update
  double rate = 0, scale = 1;
  std::int64_t finite = 1;
  /// Number of other updates between the gradient's version and this update.
  std::int64_t staleness() const { return version - 1 - base; }
};

/// A version of a part that a server has sent to a worker, or with which a worker has begun `step`.
struct ReadPart {
  std::int64_t server = 0, worker = 0, version = 0;
  std::uint64_t checksum = 0;
  std::int64_t step = 0;  ///< only for received versions
};

/// A step of a worker, and the number of its batch among the batches of all workers.
struct StepTicket {
  std::int64_t worker = 0, step = 0, ticket = 0;
};

/// The record of one call of ParallelWay::make().
struct AsyncRecord {
  bool sums_all = true;                  ///< version_sum() covers all bytes, not only some pages
  std::vector<AppliedGradient> applied;  ///< of each server in its order
  std::vector<ReadPart> sent, received;
  std::vector<StepTicket> taken;  ///< of each worker in its order

  /// The records of all ranks together, on each of them. Collective.
  static AsyncRecord gather_all(const AsyncRecord& own, Communicator& ranks);
};

/// The claims of the case about the steps of a record.
struct AsyncClaims {
  std::int64_t workers = 1, servers = 1;
  std::vector<std::int64_t> versions;   ///< by server: before the first update
  std::vector<double> rates;            ///< of each step of all workers
  std::optional<std::int64_t> bound{};  ///< of staleness, in steps
  std::int64_t tickets() const { return workers * static_cast<std::int64_t>(rates.size()); }
  /// The rate of each gradient of a step.
  double rate(std::int64_t ticket) const;
};

/// The first fault of a record; "" if there is none. Each batch must be taken once. Each server
/// must apply each gradient once, in the order of each worker's steps. Versions must increase by
/// one. Gradients must be computed with the weights that the worker had received. These must be the
/// weights that the server had sent, and contain all gradients that the bound requires. Rates must
/// be right.
std::string find_fault_of_record(const AsyncRecord& record, const AsyncClaims& claims);

/// Numbers of records for the row.
struct Staleness {
  std::vector<double> counts;  ///< by staleness: gradients of single servers
  double lost = 0;             ///< gradients that a server has skipped
  double updates = 0;          ///< of the servers' parts
  std::vector<double> steps;   ///< by worker
  double lead = 0;  ///< largest lead of a worker over another in steps, as seen by a server
  void add(const AsyncRecord& record, const AsyncClaims& claims);
};

}  // namespace assay
