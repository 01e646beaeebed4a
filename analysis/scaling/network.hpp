#pragma once
// The network of the scaling model: α–β links in levels, such as the GPUs of a node and the nodes.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace assay::scaling {

/// A message of `bytes` between two ranks of a group takes alpha + beta * bytes, and occupies its
/// sender for that time. A rank can send and receive at the same time (full duplex).
struct Level {
  std::string name;
  int ranks = 0;     ///< ranks of one group of this level, consecutive; the outermost level: any
                     ///< number
  double alpha = 0;  ///< seconds
  double beta = 0;   ///< seconds per byte
  /// Number of messages that can leave a group of the next inner level at full speed at the same
  /// time (its network ports). More messages share the ports evenly. The innermost level does not
  /// use it.
  double links = 1;
};

struct Network {
  std::vector<Level> levels;  ///< from the innermost outwards; at least one
  /// The longest message; a longer piece is sent as several. 0: no limit.
  std::int64_t segment_bytes = 0;
};

/// The longest message of Assay's own algorithms: segment_bytes of comm/algorithms/schedule.hpp.
inline constexpr std::int64_t assay_segment_bytes = std::int64_t{256} * 1024;

/// The cost of a message in a round with other messages. The message takes alpha + beta * bytes.
/// Its shared ports need shared * bytes for one such message from each of their senders (0: it
/// shares no port). A port is free while a sender spends its alpha.
struct Link {
  double alpha = 0, beta = 0, shared = 0;
};

/// The number of the group of a level that a rank belongs to. All ranks are in one group of the
/// outermost level.
int find_group(const Network& network, int rank, std::size_t level);
/// The innermost level at which both ranks are in the same group.
std::size_t crossing(const Network& network, int a, int b);

/// The costs of the messages of a round in which each rank r of `ranks` sends one message to
/// receiver(r), or none if that is negative. There is one cost for each level that a message
/// crosses, that of the slowest sender.
std::vector<Link> list_links(const Network& network, int ranks,
                             const std::function<int(int)>& receiver);

}  // namespace assay::scaling
