#include "analysis/scaling/step_time.hpp"

#include <algorithm>

namespace assay::scaling {

std::vector<Bucket> make_buckets(const std::vector<std::int64_t>& tensors, std::int64_t least) {
  std::vector<Bucket> buckets;
  Bucket bucket{0, 0};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    bucket.elements += tensors[i];
    bucket.ready = static_cast<double>(i + 1) / static_cast<double>(tensors.size());
    if (bucket.elements < least && i + 1 < tensors.size()) continue;
    buckets.push_back(bucket);
    bucket = {0, 0};
  }
  return buckets;
}

StepTime step_time(const Compute& compute, const std::vector<Bucket>& buckets, Overlap overlap,
                   const Allreduces& allreduces) {
  StepTime step;
  const double computed = compute.forward + compute.backward;
  std::vector<PendingSum> sums;
  for (const Bucket& bucket : buckets)
    sums.push_back({overlap == Overlap::none ? computed
                    : overlap == Overlap::backward
                        ? compute.forward + compute.backward * bucket.ready
                        : 0,
                    bucket.elements});
  double end = 0;  // of the last allreduce
  const std::vector<double> ends = allreduces(sums);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    step.communication += ends[i] - std::max(end, sums[i].ready);
    end = ends[i];
  }
  step.seconds = overlap == Overlap::step ? std::max(compute.seconds(), end)
                                          : std::max(computed, end) + compute.update;
  step.exposed = std::max(0.0, step.seconds - compute.seconds());  // rounding
  return step;
}

}  // namespace assay::scaling
