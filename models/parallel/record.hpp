#pragma once
// The record that servers and workers write of asynchronous steps, and the conditions that it must
// meet.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"

namespace assay {

/// A gradient that a server has applied, or skipped since it was not finite.
struct AppliedGradient {
  std::int64_t server = 0, worker = 0;
  std::int64_t step = 0;     ///< of the worker, from 0
  std::int64_t base = 0;     ///< version of the part that the gradient was made at
  std::int64_t version = 0;  ///< that this update has made
  double rate = 0, scale = 1;
  std::int64_t finite = 1;
  /// Versions that others have made since the gradient's own.
  std::int64_t staleness() const { return version - 1 - base; }
};

/// A version of a part that a server has sent to a worker, or that a worker's `step` has begun
/// with.
struct ReadPart {
  std::int64_t server = 0, worker = 0, version = 0;
  std::uint64_t checksum = 0;
  std::int64_t step = 0;  ///< of what a worker has received
};

/// A step of a worker, and the number of its batch among those of all.
struct StepTicket {
  std::int64_t worker = 0, step = 0, ticket = 0;
};

/// The record of one call of ParallelWay::make().
struct AsyncRecord {
  bool sums_all = true;                  ///< version_sum() is of all bytes, not of some pages
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
  /// The rate of one of the gradients of a step.
  double rate(std::int64_t ticket) const;
};

/// The first way in which a record is none of such steps; "" if it is one: each batch was taken
/// once, each gradient applied once by each server, in the order of each worker's steps; versions
/// increase by one; gradients were made at the weights that the worker had received, which are
/// those that the server had sent, and which have all gradients that the bound asks for; rates are
/// right.
std::string fault_of_record(const AsyncRecord& record, const AsyncClaims& claims);

/// Numbers of records for the row.
struct Staleness {
  std::vector<double> counts;  ///< by staleness: gradients of single servers
  double lost = 0;             ///< gradients that a server has skipped
  double updates = 0;          ///< of the servers' parts
  std::vector<double> steps;   ///< by worker
  double lead = 0;  ///< most steps by which a worker was before another, as a server saw them
  void add(const AsyncRecord& record, const AsyncClaims& claims);
};

}  // namespace assay
