#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "tests/transports/contract.hpp"

namespace assay::testing {

namespace {

Buffer of(std::vector<std::int32_t>& values) {
  return {values.data(), static_cast<std::int64_t>(values.size()), DataType::s32};
}

std::vector<std::int32_t> numbered(std::int64_t count, int first) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = first * 1000003 + static_cast<std::int32_t>(i);
  return values;
}

}  // namespace

/// Every rank sends `messages` to the next and receives as many from the one before; all are under
/// way before the first is waited for, and they are waited for forwards or backwards.
void Contract::ring_messages(std::int64_t count, int messages, bool backwards) {
  const int n = ranks_.size(), me = ranks_.rank();
  const int next = (me + 1) % n, before = (me + n - 1) % n;
  std::vector<std::vector<std::int32_t>> out, in;
  for (int i = 0; i < messages; ++i) {
    out.push_back(numbered(count + i, 100 * me + i));
    in.emplace_back(static_cast<std::size_t>(count + i), -1);
  }
  std::vector<Request> requests;
  for (std::vector<std::int32_t>& buffer : in)
    requests.push_back(ranks_.receive(of(buffer), before, 7, stream_));
  for (std::vector<std::int32_t>& buffer : out)
    requests.push_back(ranks_.send(of(buffer), next, 7, stream_));
  if (backwards) std::reverse(requests.begin(), requests.end());
  for (Request& request : requests) {
    if (backwards)
      while (!ranks_.done(request)) {
      }
    ranks_.wait(request);
    ranks_.wait(request);
    expect(ranks_.done(request), "a message was waited for and is not done");
  }
  stream_.wait();
  for (int i = 0; i < messages; ++i)
    expect(in[static_cast<std::size_t>(i)] == numbered(count + i, 100 * before + i),
           fmt::format("message {} of {} elements from rank {} did not arrive as it was sent", i,
                       count + i, before));
  ++calls_;
}

void Contract::messages() {
  Request none;
  expect(ranks_.done(none), "a default request is not done");
  ranks_.wait(none);
  if (ranks_.size() == 1) return;
  for (const bool backwards : {false, true}) {
    ring_messages(1, 1, backwards);
    ring_messages(0, 2, backwards);
    ring_messages(1 << 20, 1, backwards);  // more than any transport buffers
    ring_messages(100, 64, backwards);
    ring_messages(30000, 8, backwards);
  }
  // Messages go from one to all others at once, and back.
  std::vector<std::vector<std::int32_t>> in(static_cast<std::size_t>(ranks_.size()));
  std::vector<std::int32_t> mine = numbered(5000, ranks_.rank());
  std::vector<Request> requests;
  for (int other = 0; other < ranks_.size(); ++other) {
    if (other == ranks_.rank()) continue;
    in[static_cast<std::size_t>(other)].resize(5000);
    requests.push_back(ranks_.receive(of(in[static_cast<std::size_t>(other)]), other, 1, stream_));
  }
  for (int other = 0; other < ranks_.size(); ++other)
    if (other != ranks_.rank()) requests.push_back(ranks_.send(of(mine), other, 1, stream_));
  for (Request& request : requests) ranks_.wait(request);
  for (int other = 0; other < ranks_.size(); ++other)
    if (other != ranks_.rank())
      expect(in[static_cast<std::size_t>(other)] == numbered(5000, other),
             fmt::format("the message of rank {} to all is not what it sent", other));
}

void Contract::tags() {
  if (ranks_.size() == 1 || !ranks_.has_tags()) return;
  const int n = ranks_.size(), me = ranks_.rank();
  const int next = (me + 1) % n, before = (me + n - 1) % n;
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{200000}}) {
    std::vector<std::vector<std::int32_t>> out, in;
    std::vector<Request> requests;
    constexpr int messages = 6;
    // Tags 0, 5, 10 … 25, two of them twice: equal tags in the order of sending.
    const auto tag = [](int i) { return i % 4 * 5; };
    for (int i = 0; i < messages; ++i) {
      out.push_back(numbered(count, 100 * me + i));
      in.emplace_back(static_cast<std::size_t>(count), -1);
    }
    for (const int i : {3, 2, 1, 5, 0, 4})  // 1 before 5, 0 before 4
      requests.push_back(
          ranks_.receive(of(in[static_cast<std::size_t>(i)]), before, tag(i), stream_));
    for (int i = 0; i < messages; ++i)
      requests.push_back(ranks_.send(of(out[static_cast<std::size_t>(i)]), next, tag(i), stream_));
    for (Request& request : requests) ranks_.wait(request);
    for (int i = 0; i < messages; ++i)
      expect(in[static_cast<std::size_t>(i)] == numbered(count, 100 * before + i),
             fmt::format("message {} with tag {} is another one", i, tag(i)));
    ++calls_;
  }
}

void Contract::splits() {
  const int n = ranks_.size(), me = ranks_.rank();
  const auto sum_of = [&](Communicator& part) {
    std::vector<std::int32_t> mine{part.rank() + 100 * me}, sum{-1};
    part.allreduce(of(mine), of(sum), ReduceOp::sum, stream_);
    return sum[0];
  };
  // Halves by parity, in the opposite order.
  const auto half = ranks_.split(me % 2, -me);
  const int members = (n + 1 - me % 2) / 2;
  expect(half->size() == members, "a part has not its members");
  expect(half->rank() == (members - 1) - me / 2, "the order of a part is not that of the keys");
  int expected = 0;
  for (int rank = me % 2, place = members - 1; rank < n; rank += 2, --place)
    expected += place + 100 * rank;
  expect(sum_of(*half) == expected, "a part sums up others");
  // Equal keys: the order of the ranks.
  const auto same = ranks_.split(0, 5);
  expect(same->rank() == me && same->size() == n, "equal keys change the order");
  // Each alone.
  const auto alone = ranks_.split(me, 0);
  expect(alone->size() == 1 && alone->rank() == 0, "a part of one is not alone");
  expect(sum_of(*alone) == 100 * me, "a sum over one rank is another");
  // A part of a part, used while the others live.
  const auto quarter = half->split(half->rank() / 2, 0);
  expect(quarter->size() == std::min(2, members - half->rank() / 2 * 2),
         "a part of a part has not its members");
  sum_of(*quarter);
  expect(sum_of(ranks_) == n * (n - 1) / 2 + 100 * (n * (n - 1) / 2),
         "the whole sums up otherwise after a split");
  expect(sum_of(*half) == expected, "a part sums up otherwise the second time");
  // Nodes: every rank of a node, and nobody else; one of each node.
  const auto inside = ranks_.split(ranks_.node(), me);
  expect(inside->nodes() == 1 && inside->node() == 0, "the ranks of a node have several");
  const auto heads = ranks_.split(inside->rank() == 0 ? 0 : 1, me);
  if (inside->rank() == 0)
    expect(heads->size() == ranks_.nodes() && heads->nodes() == ranks_.nodes() &&
               heads->node() == heads->rank(),
           "the first ranks of the nodes are not one on each");
  calls_ += 6;
}

void Contract::talk() {
  const int n = ranks_.size(), me = ranks_.rank();
  expect(me >= 0 && me < n, "rank");
  expect(ranks_.node() >= 0 && ranks_.node() < ranks_.nodes(), "node");
  expect(!ranks_.host().empty(), "host");
  ranks_.barrier();
  std::vector<double> values{static_cast<double>(me), -static_cast<double>(me), 7};
  ranks_.allreduce_max(values);
  expect(values == std::vector<double>{static_cast<double>(n - 1), 0, 7}, "maximum");
  expect(ranks_.broadcast(me + 0.25) == 0.25, "agree gives another value than that of rank 0");
  const auto text = [](int rank) {
    return rank == 1 ? std::string()
                     : std::string(static_cast<std::size_t>(rank * 3000), 'x') +
                           std::to_string(rank) + std::string("\n\0\xff", 3);
  };
  const std::vector<std::string> all = ranks_.allgather(text(me));
  expect(all.size() == static_cast<std::size_t>(n), "gather gives not one text a rank");
  for (int rank = 0; rank < n && rank < static_cast<int>(all.size()); ++rank)
    expect(all[static_cast<std::size_t>(rank)] == text(rank),
           fmt::format("the text of rank {} is another", rank));
  ++calls_;
}

}  // namespace assay::testing
