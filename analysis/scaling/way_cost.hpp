#pragma once
// The time of a step for the ways of parallelism other than synchronous sums (docs/parallel.md),
// from the computation of a rank, alpha and beta. Each rank has equally many images in every way,
// so that images per second can be compared.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "analysis/scaling/network.hpp"
#include "analysis/scaling/step_time.hpp"
#include "core/base/unsupported.hpp"

namespace assay::scaling {

/// A way, and the parameters of the network that it needs beside the gradients.
struct WayInput {
  std::string way;  ///< "stale:1", "async", "server:4", "pipeline:4" or "split:2"
  /// pipeline: passes of a step, and bytes of an image that cross the border of two stages. split:
  /// exchanges of a forward pass (the backward pass has as many), and bytes of an image in each
  /// exchange.
  std::optional<double> micro_batches{}, exchanges{}, activation_bytes{};
};

struct WayTime {
  double seconds = 0;        ///< of a step
  double communication = 0;  ///< the part of it in which a rank sends, receives or waits for
                             ///< messages
  int computing = 0;         ///< ranks that have images
};

/// A rank's part of a step without any communication.
struct RankWork {
  Compute compute{};  ///< of the rank's images
  std::int64_t images = 0;
  double gradient_bytes = 0;
};

/// The time, in seconds, to sum `bytes` of gradients; Unsupported if the ranks cannot sum them.
using SumSeconds = std::function<Result<double>(int ranks, const Network& network, double bytes)>;

/// stale:S and async: weights are divided evenly among all ranks. While a rank computes the next
/// step, it sends each other rank that rank's part of the gradients, and receives that rank's part
/// of the weights:
///   max(compute, 2 (n-1) alpha + 2 (n-1)/n m beta, the same through the ports of a node).
/// server:K: n - K ranks compute; each sends its gradients to K servers and waits for K parts of
/// the weights. A server handles two messages of each worker; servers of a node share its ports:
///   max(compute + 2 K (alpha + m/K beta), 2 (n-K) (alpha + m/K beta)).
/// pipeline:P: P consecutive ranks have the layers of one network and the images of P ranks, in M
/// passes. Stages are equal. Messages between passes are hidden, except those that fill and drain
/// the pipeline:
///   (M+P-1) compute/M + 2 (P-1) (alpha + images P/M activation_bytes beta) + sum of m/P over n/P.
/// split:K: K consecutive ranks divide each layer, for the images of K ranks. The E allreduces of
/// activations (rings) in each pass are not hidden:
///   compute + 2 E (2 (K-1) alpha + 2 (K-1)/K images K activation_bytes beta) + sum of m/K over
///   n/K.
/// Sums of parts share the ports of a node, so the network that `sum` gets has fewer links.
/// Unsupported if the ranks cannot be divided so; InputError for an unknown way, or a missing
/// parameter.
Result<WayTime> way_time(const WayInput& input, int ranks, const Network& network,
                         const RankWork& work, const SumSeconds& sum);

/// InputError if way_time() would throw it.
void expect_way(const WayInput& input);

/// The time in which ranks agree on the order of their tensors by messages
/// (comm/layers/control.hpp), flat or by a tree. A message takes alpha of the innermost level with
/// both ranks twice: once of its sender's time and then once of its receiver's, because a processor
/// handles each.
struct ControlCost {
  double messages = 0;  ///< of the busiest rank for each tensor
  /// The longest time for which one rank handles the messages of a tensor. Decisions are at least
  /// this far apart.
  double interval = 0;
  /// The time from the moment when all ranks have a tensor until the last rank knows its place.
  double latency = 0;
  /// The time until the last rank knows the order of `tensors` tensors, which all ranks have at
  /// once.
  double seconds(double tensors) const { return latency + (tensors - 1) * interval; }
};

/// `way`: "flat", or "tree:R" with a radix R from 2 to 1024. InputError for other texts.
ControlCost control_cost(const std::string& way, int ranks, const Network& network);

}  // namespace assay::scaling
