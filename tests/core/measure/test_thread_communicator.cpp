// The tests' own transport: what algorithms are tested over must itself be right.
#include <gtest/gtest.h>

#include <numeric>

#include "core/api/host_device.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_thread_communicator {

using testing_fakes::on_threads;

Buffer fp32(std::vector<float>& values) {
  return {values.data(), static_cast<std::int64_t>(values.size()), DataType::fp32};
}

TEST(ThreadCommunicator, CollectivesGiveWhatTheirDefinitionSays) {
  on_threads(3, [](Communicator& ranks) {
    HostStream stream;
    const auto me = static_cast<float>(ranks.rank());
    std::vector<float> mine{me, me + 10, me + 20}, whole(9), one(1), same(3);
    ranks.allreduce(fp32(mine), fp32(same), ReduceOp::sum, stream);
    EXPECT_EQ(same, (std::vector<float>{3, 33, 63}));
    ranks.allreduce(fp32(mine), fp32(same), ReduceOp::max, stream);
    EXPECT_EQ(same, (std::vector<float>{2, 12, 22}));
    ranks.run({Collective::reduce_scatter, fp32(mine), fp32(one), ReduceOp::average, 0}, stream);
    EXPECT_EQ(one[0], 1 + 10 * me);
    ranks.run({Collective::allgather, fp32(mine), fp32(whole), ReduceOp::sum, 0}, stream);
    EXPECT_EQ(whole, (std::vector<float>{0, 10, 20, 1, 11, 21, 2, 12, 22}));
    ranks.run({Collective::alltoall, fp32(mine), fp32(same), ReduceOp::sum, 0}, stream);
    EXPECT_EQ(same, (std::vector<float>{10 * me, 10 * me + 1, 10 * me + 2}));
    ranks.run({Collective::broadcast, {}, fp32(mine), ReduceOp::sum, 2}, stream);
    EXPECT_EQ(mine, (std::vector<float>{2, 12, 22}));
    std::vector<float> kept{-1};
    std::vector<float> sent{me};
    ranks.run({Collective::reduce, fp32(sent), fp32(kept), ReduceOp::min, 1}, stream);
    EXPECT_EQ(kept[0], ranks.rank() == 1 ? 0 : -1);
  });
}

TEST(ThreadCommunicator, MessagesMatchByPairTagAndOrderAndSendsWait) {
  on_threads(2, [](Communicator& ranks) {
    HostStream stream;
    const int other = 1 - ranks.rank();
    std::vector<float> first{1}, second{2}, third{3}, a(1), b(1), c(1);
    Request received[] = {ranks.receive(fp32(a), other, 5, stream),
                          ranks.receive(fp32(b), other, 5, stream),
                          ranks.receive(fp32(c), other, 4, stream)};
    Request sent[] = {ranks.send(fp32(third), other, 4, stream),
                      ranks.send(fp32(first), other, 5, stream),
                      ranks.send(fp32(second), other, 5, stream)};
    for (Request& request : sent) ranks.wait(request);
    ranks.wait(received[1]);
    EXPECT_EQ(b[0], 2);
    ranks.wait(received[0]);
    ranks.wait(received[2]);
    EXPECT_EQ(a[0], 1);
    EXPECT_EQ(c[0], 3);
    if (ranks.rank() == 0) {
      Request waiting = ranks.send(fp32(first), 1, 9, stream);
      EXPECT_FALSE(ranks.done(waiting));
      ranks.barrier();
      ranks.wait(waiting);
    } else {
      ranks.barrier();
      Request late = ranks.receive(fp32(a), 0, 9, stream);
      ranks.wait(late);
    }
  });
}

TEST(ThreadCommunicator, SplitsByColorKeyAndNode) {
  on_threads(
      5,
      [](Communicator& ranks) {
        EXPECT_EQ(ranks.nodes(), 3);
        const auto part = ranks.split(ranks.node(), -ranks.rank());
        EXPECT_EQ(part->size(), ranks.node() == 2 ? 1 : 2);
        EXPECT_EQ(part->nodes(), 1);
        EXPECT_EQ(part->rank(), ranks.rank() == 4 ? 0 : 1 - ranks.rank() % 2);
        const auto across = ranks.split(ranks.rank() % 2, ranks.rank());
        EXPECT_EQ(across->nodes(), across->size());
        HostStream stream;
        std::vector<float> value{1};
        across->allreduce(fp32(value), fp32(value), ReduceOp::sum, stream);
        EXPECT_EQ(value[0], ranks.rank() % 2 == 0 ? 3 : 2);
      },
      2);
}

}  // namespace test_thread_communicator
}  // namespace assay
