#pragma once
// The sum of a network's gradients over the ranks, in buckets of parameters whose gradients are
// ready, while the backward pass goes on.
//
// With a lag (Graph::lags) the sum of a step's gradients may take until the next step's update,
// which reads them: "gradient lag" of T. Kurth et al., Exascale Deep Learning for Climate
// Analytics, SC18. Two sums are then under way at a time, each in memory of its own.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/measure/workload.hpp"
#include "models/network/executor.hpp"

namespace assay {

/// A few elements of a rank's own gradients, before they are summed.
struct OwnGradients {
  std::vector<std::int64_t> at;  ///< in Graph::gradients, the same on all ranks
  std::vector<double> values;
};

class GradientExchange {
 public:
  /// `ranks` agree on what was found; `adding` connects the same ranks and adds. All must live as
  /// long. A bucket has `bucket_bytes` at least, but for the last one.
  GradientExchange(Executor& executor, Communicator& ranks, Communicator& adding,
                   std::size_t bucket_bytes);
  /// Waits for what is under way: no transfer may reach memory that is gone. Not while an exception
  /// unwinds: others may have failed earlier, and would never take part.
  ~GradientExchange();
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// Makes room for all sums. CaseError where the ranks cannot make them.
  void prepare();
  /// What is known of how gradients are added; nothing of one rank.
  Executed executed() const;

  /// A step begins. Some of its own gradients are kept for check(), which ones is a function of
  /// `seed`; with a lag in every step, since the step that sums them does not know whether the next
  /// one is checked.
  void begin(std::optional<std::uint64_t> seed);
  /// After a node of the last backward pass: starts the sums of buckets whose gradients are all
  /// there.
  void start_ready(std::size_t node);
  /// With a lag: lets the sums of the step before go on.
  void make_progress();
  /// Until the gradients are summed that the update of this step reads.
  void wait();
  /// After wait(): what each rank had, added in fp64, is what the update now reads on all ranks, up
  /// to the roundings of their sum. Nothing where nothing was kept of them. Collective.
  void check(Verification& found);
  /// A step has ended. With a lag its gradients are now those of the step before.
  void end();
  /// Until nothing is under way.
  void finish();

  /// Seconds since the last call that start_ready() and make_progress() have taken: computation
  /// stood still, so that communication was not hidden.
  double take_seconds();
  /// Of the gradients of the step before, with a lag.
  OwnGradients& own_before() { return before_.own; }

 private:
  struct Bucket {
    std::int64_t first = 0, count = 0;
    std::size_t ready = 0;  ///< the node after which all its gradients are there
  };
  /// The sums of one step.
  struct Sums {
    std::vector<Request> requests;  ///< by bucket; done ones are none
    OwnGradients own;
  };

  bool lags() const { return executor_.graph().lags(); }
  Sums& read_by_update() { return lags() ? before_ : now_; }
  void plan_buckets(std::size_t bucket_bytes);
  Call call_of(const Bucket& bucket, ValueIndex in) const;
  void keep(const Bucket& bucket);
  void wait_for(Sums& sums);
  std::vector<double> gradients_of_update() const;

  Executor& executor_;
  Communicator& ranks_;
  Communicator& adding_;
  std::vector<Bucket> buckets_;
  Sums now_, before_;
  std::optional<std::uint64_t> seed_;
  std::uint64_t steps_ = 0;
  std::vector<std::byte> bytes_;
  double seconds_ = 0;
};

}  // namespace assay
