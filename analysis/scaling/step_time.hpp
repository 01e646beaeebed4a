#pragma once
// The time of one step of data-parallel training, and the part of the gradients' allreduces that
// computation does not hide.

#include <cstdint>
#include <functional>
#include <vector>

namespace assay::scaling {

/// The computation that overlaps with the sums of gradients over the ranks.
enum class Overlap : std::uint8_t {
  none,      ///< the sums begin when the backward pass has ended
  backward,  ///< each sum begins when its gradients are computed
  /// The sum of a step's gradients may take until the end of the next step, whose update uses it
  /// (the gradient lag of T. Kurth et al., Exascale Deep Learning for Climate Analytics, SC18).
  step,
};

/// Seconds of a rank's computation for a batch.
struct Compute {
  double forward = 0, backward = 0, update = 0;
  double seconds() const { return forward + backward + update; }
};

/// An allreduce of `elements` elements that may begin at `ready` (seconds).
struct PendingSum {
  double ready = 0;
  std::int64_t elements = 0;
};

/// The gradients that one allreduce sums.
struct Bucket {
  std::int64_t elements = 0;
  double ready = 1;  ///< fraction of the backward pass after which all of them are computed
};

/// Puts tensors into buckets. Each bucket has at least `least` elements; the last one may have
/// fewer. Tensors are in the order of the backward pass. models/network/trainer.cpp fills its
/// buckets by the same rule. Tensor i of n is ready at i/n of the backward pass.
std::vector<Bucket> make_buckets(const std::vector<std::int64_t>& tensors, std::int64_t least);

struct StepTime {
  double seconds = 0;
  double communication = 0;  ///< sum of the times of the allreduces
  double exposed = 0;        ///< time of the step beyond its computation
};

/// The end of each of these allreduces, which run one after the other.
using Allreduces = std::function<std::vector<double>(const std::vector<PendingSum>& sums)>;

/// A bucket's allreduce begins when its gradients are computed and the previous one has ended, as
/// with one NCCL stream or in Horovod's background thread.
StepTime step_time(const Compute& compute, const std::vector<Bucket>& buckets, Overlap overlap,
                   const Allreduces& allreduces);

}  // namespace assay::scaling
