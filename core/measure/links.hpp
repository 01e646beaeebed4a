#pragma once
// Finds slow links between ranks by the times of messages between pairs of ranks.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"

namespace assay {

/// partners[round][rank], for an even number of ranks: rounds of a tournament (the circle method),
/// in which no two ranks meet twice. Their places are drawn at random from a fixed seed. There are
/// at most ranks - 1 rounds.
std::vector<std::vector<int>> make_pairings(int ranks, int rounds);

/// Default number of rounds: all for few ranks.
int choose_default_rounds(int ranks);

/// The time of two ranks for a message, the slower one of both directions.
struct PairTime {
  int a = 0, b = 0;
  double seconds = 0;
};

/// The times of all pairs that meet, measured by the slower rank of each. `mine`: of this rank,
/// whose place in `partners` is `self`, in each round; empty: it has no place. Collective.
std::vector<PairTime> pair_times(const std::vector<std::vector<int>>& partners,
                                 const std::vector<double>& mine, int self, Communicator& ranks);

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
/// `hosts`: of each rank. With several hosts, pairs inside of one do not count. The typical time is
/// the lower median of the pairs without the slowest ones. It leaves out as many pairs as the host
/// with the most pairs has, so one bad host cannot affect it.
LinkFindings judge_links(const std::vector<PairTime>& pairs, const std::vector<std::string>& hosts);

struct MeasuredLinks {
  std::int64_t bytes = 0;  ///< of a message
  LinkFindings findings;
};
/// The links between hosts, by messages between the first rank of each: all pairs of a round at
/// once, with a length that takes at least 20 ms, but at most 16 MiB. Nothing if there are too few
/// hosts to identify a slow one. `messages` connects the same ranks and transfers them, in the
/// host's memory. Collective; equal on all ranks.
std::optional<MeasuredLinks> measure_links(Communicator& ranks, Communicator& messages);

/// With fewer hosts a slow pair is as typical as the others.
inline constexpr std::size_t least_ends = 4;

}  // namespace assay
