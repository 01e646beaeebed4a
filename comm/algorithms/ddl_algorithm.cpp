// ddl (M. Cho et al., PowerAI DDL, arXiv:1708.02188): a ring at each level of the topology. A
// reduce-scatter runs from the innermost level outwards, and an allgather runs back inwards. So
// each outer level, whose links are slower and shared by more ranks, carries only the part that the
// inner levels leave.
#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "comm/algorithms/algorithm.hpp"
#include "comm/algorithms/levels.hpp"
#include "comm/algorithms/scheduled.hpp"
#include "comm/algorithms/topology.hpp"

namespace assay {

namespace {

/// The groups of this rank, innermost first. Ranks are in the order of their nodes. The distance
/// between the ranks of a group is the number of ranks in the levels inside it.
std::vector<Group> make_groups(const Topology& topology, const std::vector<int>& levels) {
  std::vector<int> order;
  std::size_t me = 0;
  for (const Group& node : topology.nodes) {
    if (&node == &topology.mine()) me = order.size() + static_cast<std::size_t>(node.me);
    order.insert(order.end(), node.ranks.begin(), node.ranks.end());
  }
  std::vector<Group> groups;
  std::size_t apart = 1;
  for (const int members : levels) {
    Group group;
    group.me = static_cast<int>(me / apart) % members;
    const std::size_t first = me - static_cast<std::size_t>(group.me) * apart;
    for (int i = 0; i < members; ++i)
      group.ranks.push_back(order.at(first + static_cast<std::size_t>(i) * apart));
    groups.push_back(std::move(group));
    apart *= static_cast<std::size_t>(members);
  }
  return groups;
}

void write(const std::vector<Group>& groups, const Call& call, ScheduleBuilder& builder) {
  Part from = builder.whole_send();
  std::vector<Part> parts{builder.whole_receive()};  // the part of each level; then this rank's own
  for (const Group& group : groups) {
    ring_reduce_scatter(builder, group, from, parts.back());
    parts.push_back(from = piece(parts.back(), group.size(), group.me));
  }
  if (call.op == ReduceOp::average) builder.scale(parts.back());
  for (std::size_t level = groups.size(); level-- > 0;)
    ring_allgather(builder, groups[level], parts[level + 1], parts[level]);
}

Result<std::unique_ptr<Communicator>> make(Communicator& transport, Communicator&,
                                           const Options& options) {
  if (std::string reason = why_not_host("ddl", options); !reason.empty())
    return Unsupported{std::move(reason)};
  const Topology topology = gather_topology(transport);
  const std::string levels_text = options.get("levels", "auto");
  std::vector<int> levels = read_levels(levels_text);
  if (levels.empty() && !topology.equal)
    return Unsupported{"ddl needs nodes with equal numbers of ranks, or --levels"};
  if (levels.empty()) levels = {topology.mine().size(), static_cast<int>(topology.nodes.size())};
  const int ranks = std::accumulate(levels.begin(), levels.end(), 1, std::multiplies());
  if (ranks != transport.size())
    return Unsupported{
        fmt::format("--levels {} are {} ranks, not {}", levels_text, ranks, transport.size())};
  return make_scheduled(transport, {"ddl",
                                    {Collective::allreduce},
                                    [groups = make_groups(topology, levels)](
                                        const Call& call, ScheduleBuilder& builder) {
                                      write(groups, call, builder);
                                    }});
}

}  // namespace

AlgorithmEntry ddl_algorithm() {
  return {"ddl",
          "a ring at each level of the topology: in each node, then among nodes, or --levels",
          &make};
}

}  // namespace assay
