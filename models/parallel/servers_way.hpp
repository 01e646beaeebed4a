#pragma once
// Data-parallel training without a sum over the ranks: servers apply each gradient when it arrives
// (stale:S, async, server:K).

#include "models/parallel/async_exchange.hpp"
#include "models/parallel/gradient_pass.hpp"
#include "models/parallel/parallel_way.hpp"
#include "models/parallel/replay.hpp"

namespace assay {

class ServersWay final : public ParallelWay {
 public:
  static Result<std::unique_ptr<ParallelWay>> make(const WayParts& parts);

  void begin() override;
  StepTotals make(const StepRange& steps) override;
  void prepare_judge() override;
  void poison() override { parts_.whole.executor().poison(); }
  void gather() override;
  void judge(Verification& verification) override;
  std::map<std::string, Metric> metrics() override;
  std::string reference() const override;
  std::string implementation() const override;

 private:
  struct Round {
    StepRange steps;
    AsyncClaims claims;
    AsyncRecord record;  ///< of this rank; of all ranks after it is gathered
    StepTotals done;     ///< of this rank
  };

  ServersWay(const WayParts& parts, AsyncRoles roles, std::unique_ptr<PartUpdate> update);
  /// The ranks, for memory of the network's device.
  Communicator& moves() const { return staged_ ? *staged_ : parts_.ranks; }
  bool works() const { return parts_.ranks.rank() < roles_.workers; }
  void work(const Round& round, StepTotals& steps);
  void progress();
  void share_weights();
  std::vector<PartState> gather_states();
  /// The moving averages of a worker, on all ranks.
  std::vector<double> broadcast_averages(int worker);
  /// The checksums `own` of all ranks.
  std::vector<std::uint64_t> gather_all(std::uint64_t own) const;
  void check_records();
  void replay(const std::vector<std::uint64_t>& averages, const std::vector<std::uint64_t>& states,
              Verification& verification);
  void check_pass(Verification& verification);

  WayParts parts_;
  const AsyncRoles roles_;
  const std::unique_ptr<Communicator> staged_;  ///< null: gradients are in the host's memory
  std::unique_ptr<PartUpdate> update_;          ///< of the part that this rank serves; null: none
  std::unique_ptr<PartServer> server_;
  std::unique_ptr<PartWorker> worker_;
  GradientPass pass_;
  const std::optional<StepClaims> claims_;  ///< of the case
  LossScale scale_;
  std::int64_t version_ = 0;                   ///< of all parts, between rounds
  std::vector<Round> unchecked_;               ///< rounds whose records were not compared yet
  std::int64_t entries_ = 0;                   ///< gradients of parts in their records
  std::optional<Round> judged_;                ///< the last round, if it will be judged
  std::vector<PartState> begun_;               ///< of the judged round, on rank 0
  std::vector<std::vector<double>> averages_;  ///< by worker, at the round's begin, on rank 0
  std::vector<std::int64_t> updates_;          ///< by server, as the records say
  std::string fault_;                          ///< of records, or of this rank's state
  Staleness staleness_;
};

}  // namespace assay
