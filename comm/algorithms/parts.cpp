#include "comm/algorithms/parts.hpp"

#include <algorithm>
#include <bit>

namespace assay {

namespace {

/// Most segments in flight in one direction.
constexpr std::size_t depth = 4;

/// A segment to receive. It is stored in `into`, combined with `own` unless own.count is 0.
struct Incoming {
  Part into, own;
};

void append_segments(const ScheduleBuilder& builder, std::vector<Part>& all, Part part) {
  for (std::int64_t first = 0; first < part.count; first += builder.segment())
    all.push_back(part.part(first, std::min(builder.segment(), part.count - first)));
}

void append_segments(const ScheduleBuilder& builder, std::vector<Incoming>& all, Part into,
                     Part own) {
  for (std::int64_t first = 0; first < into.count; first += builder.segment()) {
    const std::int64_t count = std::min(builder.segment(), into.count - first);
    all.push_back({into.part(first, count), own.part(first, own.count > 0 ? count : 0)});
  }
}

/// Sends `out` to one neighbour and receives `in` from another, segment by segment. From `ready`
/// on, `out` consists of the segments of `in`, in order: each is sent on as soon as it has arrived
/// and is combined. Messages follow the order of these lists. A receive is always started before
/// this rank waits for anything that could delay its sender.
void stream(ScheduleBuilder& builder, int to, const std::vector<Part>& out, std::size_t ready,
            int from, const std::vector<Incoming>& in) {
  // A segment is received into scratch memory if its destination still holds a contribution that is
  // needed.
  std::vector<Part> room;
  const auto arrives = [&](std::size_t index) {
    const Incoming& incoming = in[index];
    if (incoming.own.count == 0 || !builder.overlap(incoming.into, incoming.own))
      return incoming.into;
    if (room.empty()) {
      std::int64_t most = 0;
      for (const Incoming& other : in) most = std::max(most, other.into.count);
      for (std::size_t i = 0; i < std::min(depth, in.size()); ++i)
        room.push_back(builder.scratch(most));
    }
    return room[index % room.size()].part(0, incoming.into.count);
  };
  std::size_t received = 0, sent = 0;
  for (std::size_t done = 0; done <= in.size(); ++done) {
    for (; received < std::min(done + depth, in.size()); ++received)
      builder.receive(from, arrives(received));
    // After the last receive there is no later turn: send all the rest.
    const std::size_t ahead = done == in.size() ? out.size() : std::min(done + depth, out.size());
    for (; sent < ahead && (sent < ready || sent - ready < done); ++sent)
      builder.send(to, out[sent]);
    if (done == in.size()) break;
    if (in[done].own.count > 0) builder.combine(in[done].into, in[done].own, arrives(done));
  }
}

}  // namespace

Group every(int first, int stride, int end, int me) {
  Group group;
  for (int rank = first; rank < end; rank += stride) {
    if (rank == me) group.me = group.size();
    group.ranks.push_back(rank);
  }
  return group;
}

Part piece(Part whole, int parts, int index) {
  const std::int64_t base = whole.count / parts, longer = whole.count % parts;
  const std::int64_t before = base * index + std::min<std::int64_t>(longer, index);
  return whole.part(before, base + (index < longer ? 1 : 0));
}

void ring_reduce_scatter(ScheduleBuilder& builder, const Group& group, Part whole, Part result) {
  const int n = group.size();
  const auto at = [n](int index) { return ((index % n) + n) % n; };
  const Part own = piece(whole, n, group.me);
  const bool whole_result = result.count == whole.count;
  const Part own_result = whole_result ? piece(result, n, group.me) : result;
  if (n == 1) return builder.copy(own_result, own);

  // In step s the left neighbour sends the sum of piece me - s - 2 over s + 1 members. I add my
  // contribution and send it to the right in the next step. My own piece arrives last.
  std::vector<Part> out;
  append_segments(builder, out, piece(whole, n, at(group.me - 1)));
  const std::size_t ready = out.size();
  std::vector<Incoming> in;
  for (int step = 0; step < n - 2; ++step) {
    const int index = at(group.me - step - 2);
    append_segments(builder, in, whole_result ? piece(result, n, index) : piece(whole, n, index),
                    piece(whole, n, index));
  }
  if (!whole_result && !in.empty()) {
    // A sum in transit occupies memory from the start of its receive (at most `depth` segments
    // ahead) until it is sent (at most one step, `ready` segments, later). So this many places
    // suffice.
    const std::size_t places = std::max(depth, ready) + 1;
    std::vector<Part> memory;
    for (std::size_t i = 0; i < std::min(places, in.size()); ++i)
      memory.push_back(builder.scratch(std::min(builder.segment(), piece(whole, n, 0).count)));
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i].into = memory[i % memory.size()].part(0, in[i].own.count);
  }
  for (const Incoming& incoming : in) out.push_back(incoming.into);
  append_segments(builder, in, own_result, own);
  stream(builder, group.neighbour(1), out, ready, group.neighbour(-1), in);
}

void ring_allgather(ScheduleBuilder& builder, const Group& group, Part own, Part whole) {
  const int n = group.size();
  const auto at = [n](int index) { return ((index % n) + n) % n; };
  builder.copy(piece(whole, n, group.me), own);
  if (n == 1) return;
  std::vector<Part> out;
  append_segments(builder, out, own);
  const std::size_t ready = out.size();
  std::vector<Incoming> in;
  for (int step = 0; step < n - 1; ++step) {
    const Part coming = piece(whole, n, at(group.me - step - 1));
    append_segments(builder, in, coming, {});
    if (step < n - 2) append_segments(builder, out, coming);
  }
  stream(builder, group.neighbour(1), out, ready, group.neighbour(-1), in);
}

void halving_doubling(ScheduleBuilder& builder, const Group& group, Part from, Part into,
                      bool scaled) {
  const int n = group.size();
  if (n == 1) {
    builder.copy(into, from);
    if (scaled) builder.scale(into);
    return;
  }
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  const int folded = n - power;  // pairs; the even member sends its data, and receives the result
  const auto rank_at = [&](int index) {
    const int place = index < folded ? 2 * index + 1 : index + folded;
    return group.ranks[static_cast<std::size_t>(place)];
  };
  std::vector<Part> out;
  std::vector<Incoming> in;
  const auto exchange = [&](int peer, Part sent, Part received, Part own) {
    out.clear();
    in.clear();
    append_segments(builder, out, sent);
    append_segments(builder, in, received, own);
    stream(builder, peer, out, out.size(), peer, in);
  };

  const bool in_pair = group.me < 2 * folded;
  if (in_pair && group.me % 2 == 0) {
    exchange(group.neighbour(1), from, {}, {});
    exchange(group.neighbour(1), {}, into, {});
    return;
  }
  Part data = from;  // place of my contribution
  if (in_pair) {
    exchange(group.neighbour(-1), {}, into, from);
    data = into;
  }
  const int index = in_pair ? group.me / 2 : group.me - folded;

  // The largest exchange is with the nearest index, which is most likely on the same node.
  std::vector<Part> kept{into}, arguments;  // of `into`
  for (int distance = 1; distance < power; distance *= 2) {
    const bool lower = (index & distance) == 0;
    const Part range = kept.back();
    const Part mine = piece(range, 2, lower ? 0 : 1), theirs = piece(range, 2, lower ? 1 : 0);
    const auto contribution = [&](Part part) {
      return data.part(part.first - into.first, part.count);
    };
    exchange(rank_at(index ^ distance), contribution(theirs), mine, contribution(mine));
    kept.push_back(mine);
    arguments.push_back(theirs);
    data = into;
  }
  if (scaled) builder.scale(kept.back());
  for (int distance = power / 2; distance >= 1; distance /= 2) {
    kept.pop_back();
    const Part theirs = arguments.back();
    arguments.pop_back();
    const Part mine = theirs.first == kept.back().first
                          ? kept.back().part(theirs.count, kept.back().count - theirs.count)
                          : kept.back().part(0, kept.back().count - theirs.count);
    exchange(rank_at(index ^ distance), mine, theirs, {});
  }
  if (in_pair) exchange(group.neighbour(-1), into, {}, {});
}

void tree_reduce(ScheduleBuilder& builder, const Group& group, int root, Part from, Part into) {
  const int n = group.size(), place = (group.me - root + n) % n;
  const auto rank_at = [&](int other) {
    return group.ranks[static_cast<std::size_t>((other + root) % n)];
  };
  Part data = from;
  for (int distance = 1; distance < n; distance *= 2) {
    std::vector<Part> out;
    std::vector<Incoming> in;
    if ((place & distance) != 0) {
      append_segments(builder, out, data);
      return stream(builder, rank_at(place - distance), out, out.size(), 0, in);
    }
    if (place + distance >= n) continue;
    append_segments(builder, in, into, data);
    stream(builder, 0, out, 0, rank_at(place + distance), in);
    data = into;
  }
  builder.copy(into, data);
}

void tree_broadcast(ScheduleBuilder& builder, const Group& group, int root, Part data) {
  const int n = group.size(), place = (group.me - root + n) % n;
  const auto rank_at = [&](int other) {
    return group.ranks[static_cast<std::size_t>((other + root) % n)];
  };
  // My parent's index differs from mine in my lowest set bit. The children of the root differ from
  // it in any one bit.
  const int lowest =
      place == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(n))) : place & -place;
  std::vector<Incoming> in;
  std::vector<Part> segments;
  append_segments(builder, segments, data);
  if (place != 0) {
    for (const Part& segment : segments) builder.receive(rank_at(place - lowest), segment);
  }
  for (const Part& segment : segments) {
    for (int distance = lowest / 2; distance >= 1; distance /= 2)
      if (place + distance < n) builder.send(rank_at(place + distance), segment);
  }
}

}  // namespace assay
