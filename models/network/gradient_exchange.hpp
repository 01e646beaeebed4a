#pragma once
// Sums the gradients of a network over the ranks. Gradients are divided into buckets, and the sum
// of a bucket starts during the backward pass, as soon as all its gradients are computed.
//
// With a lag (Graph::lags), the sum of a step's gradients is read only by the update of the next
// step, so it may take until then ("gradient lag": T. Kurth et al., Exascale Deep Learning for
// Climate Analytics, SC18). The sums of two steps are then in progress, each in its own memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/layers/control.hpp"
#include "core/api/communicator.hpp"
#include "core/measure/workload.hpp"
#include "models/network/executor.hpp"

namespace assay {

/// Some elements of a rank's own gradients, before they are summed.
struct OwnGradients {
  std::vector<std::int64_t> at;  ///< indices in Graph::gradients, equal on all ranks
  std::vector<double> values;
};

class GradientExchange {
 public:
  /// `adding` sums the gradients; `ranks` connects the same ranks and is used for checks. All
  /// arguments must outlive the exchange. Buckets, except the last, have at least `bucket_bytes`.
  /// `staged`: `adding` copies the buckets from and to a device (comm/layers/staged.hpp).
  /// `control`: if set, the ranks first agree on the order of the buckets, by messages over `ranks`
  /// (comm/layers/control.hpp); its value is the radix of their tree, or 0: flat.
  GradientExchange(Executor& executor, Communicator& ranks, Communicator& adding,
                   std::size_t bucket_bytes, bool staged = false,
                   std::optional<int> control = std::nullopt);
  /// Waits for sums in progress, so that no transfer writes to memory that was freed. Does not wait
  /// during the unwinding of an exception: other ranks may have failed and would never take part.
  ~GradientExchange();
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  /// Prepares all sums (Communicator::prepare). CaseError if the ranks cannot compute them.
  void prepare();
  /// How gradients are summed, as far as known; empty for one rank.
  Execution execution() const;

  /// Call it at the beginning of a step. With `seed`, stores some of the step's own gradients,
  /// chosen by `seed`, for check(). With a lag it does so in every step: the next step reads the
  /// sum, and it is not yet known whether that step is checked.
  void begin(std::optional<std::uint64_t> seed);
  /// Call it after each node of the last backward pass. Starts the sums of the buckets that are
  /// complete; with control, of those on which the ranks have agreed.
  void start_ready(std::size_t node);
  /// With a lag: makes progress with the sums of the previous step.
  void make_progress();
  /// Starts all sums of this step, and waits for the sums that its update reads.
  void wait();
  /// Makes later work of the device's stream wait for the sums. Allowed only if why_waits() is "".
  /// Call wait() later, before the next step.
  void order();
  /// Why only the host, not the device's stream, can wait for the sums of a step without a lag; ""
  /// if the stream can.
  std::string why_waits() const;
  /// Call it after wait(). Checks that the values that the update reads on each rank are the sums
  /// in fp64 of the ranks' own gradients, up to rounding errors. With control, also checks that all
  /// ranks have added in the same order. Does nothing if own gradients were not stored. Collective.
  void check(Verification& verification);
  /// Call it at the end of a step. With a lag, its gradients become those of the previous step.
  void end();
  /// Waits for all sums in progress.
  void finish();

  /// Seconds spent in start_ready() and make_progress() since the last call: communication that was
  /// not hidden behind computation.
  double take_seconds();
  /// Control messages of the busiest rank in a step, sent and received.
  std::int64_t control_messages() const { return control_messages_; }
  /// With a lag: the stored elements of the previous step's gradients.
  OwnGradients& own_before() { return before_.own; }

 private:
  struct Bucket {
    std::int64_t first = 0, count = 0;
    std::size_t ready = 0;  ///< the node after which all its gradients are computed
  };
  /// The sums of one step.
  struct Sums {
    std::vector<Request> requests;  ///< by bucket; default-constructed if done
    OwnGradients own;
  };

  bool lags() const { return executor_.graph().lags(); }
  Sums& read_by_update() { return lags() ? before_ : now_; }
  void plan_buckets(std::size_t bucket_bytes);
  Call make_call(const Bucket& bucket, ValueIndex in) const;
  void keep(const Bucket& bucket);
  void start(std::size_t bucket);
  void start_decided();
  void check_control(Verification& verification);
  void wait_for(Sums& sums);
  std::vector<double> gradients_of_update() const;

  Executor& executor_;
  Communicator& ranks_;
  Communicator& adding_;
  bool staged_;
  std::vector<Bucket> buckets_;
  std::unique_ptr<Control> control_;
  std::int64_t control_messages_ = 0;
  Sums now_, before_;
  std::optional<std::uint64_t> seed_;
  std::uint64_t steps_ = 0;
  std::vector<std::byte> bytes_;
  double seconds_ = 0;
};

}  // namespace assay
