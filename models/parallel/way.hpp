#pragma once
// The division of the work of a training among ranks: the flag --parallel.

#include <cstdint>
#include <string>

namespace assay {

enum class WayKind { sync, stale, async, server, pipeline, split };
enum class PipelineSchedule { one_forward_one_backward, fill_drain };

struct Parallel {
  WayKind kind = WayKind::sync;
  /// stale: the bound of staleness; server: ranks that only serve; pipeline: stages; split: ranks
  /// that divide a layer.
  std::int64_t number = 0;
  PipelineSchedule schedule = PipelineSchedule::one_forward_one_backward;  ///< of a pipeline
  /// The ranks form groups of `number` ranks, each with a pipeline or a split; gradients are summed
  /// over the groups.
  bool replicated = false;
  bool operator==(const Parallel&) const = default;
};

/// Parses "sync", "stale:S", "async", "server:K", "pipeline:P[:1f1b|:fill-drain][*sync]",
/// "split:K[*sync]". InputError for other texts.
Parallel parse_parallel(const std::string& text);
/// The shortest text that parse_parallel() reads as `way`.
std::string to_text(const Parallel& way);

/// Number of ranks, or groups of ranks, with their own samples in a step. 1 if the way does not fit
/// the ranks (it is refused later).
std::int64_t replicas(const Parallel& way, std::int64_t ranks);

/// Steps of a timed run. Ways whose ranks do not wait for each other need several, since a run
/// begins and ends on all ranks together.
std::int64_t steps_of_run(const Parallel& way);

}  // namespace assay
