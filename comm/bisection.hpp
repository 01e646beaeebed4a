#pragma once
// Bisection: half of the ranks send to the other half, pair by pair and all pairs at once, then
// back, in one random permutation after the other. Each rank has a time for each of its partners,
// so a slow link is found by the pairs that use it.

#include <memory>
#include <string>
#include <vector>

#include "comm/collective.hpp"
#include "comm/collective_operation.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// partners[round][rank], for an even number of ranks: rounds of a tournament (the circle method),
/// in which no two ranks meet twice, with places that are drawn at random from a fixed seed. There
/// are ranks - 1 rounds at most.
std::vector<std::vector<int>> pairings(int ranks, int rounds);

/// Rounds if none are asked for: all where ranks are few.
int default_rounds(int ranks);

/// The time of two ranks for a message, the slower one of both directions.
struct PairTime {
  int a = 0, b = 0;
  double seconds = 0;
};

/// A link is slow if its pairs take this many times as long as a typical one. A link of half the
/// rate takes twice as long.
inline constexpr double slow_from = 1.5;

/// Links between ranks, judged by the times of pairs.
struct LinkFindings {
  double typical = 0;  ///< seconds of a pair
  PairTime slowest{};
  /// True if enough hosts (or ranks of a single host) were compared to identify a slow one.
  bool judged = false;
  struct Slow {
    std::string name;  ///< "h1": all pairs of this host; "h1+h2": the pair; ranks of one host by
                       ///< number ("rank1+rank3")
    double ratio = 0;  ///< its least time over the typical one
  };
  std::vector<Slow> slow{};
};
/// `hosts`: of each rank. Where there are several hosts, pairs inside of one do not count. A
/// typical time is the lower median of the pairs without the slowest, of which as many are left out
/// as the host with the most pairs has, so that one bad host spoils it nowhere.
LinkFindings links_of(const std::vector<PairTime>& pairs, const std::vector<std::string>& hosts);

/// Takes over `ranks`, whose messages are those of the host (a pair's time is read from its clock).
/// Its metrics are the findings. Every byte that every rank receives is checked.
std::unique_ptr<Workload> bisection_workload(const CollectiveProblem& problem,
                                             std::unique_ptr<Communicator> ranks,
                                             const CollectiveSettings& settings, Device& device,
                                             std::unique_ptr<Oracle> oracle, double create_seconds,
                                             const OperationSetup& setup);

}  // namespace assay
