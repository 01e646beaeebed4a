#include "comm/layers/fusion.hpp"

#include "comm/forwarding.hpp"
#include "tests/comm/collective_check.hpp"

namespace assay {
namespace test_fusion {

using namespace testing_comm;
using testing_fakes::on_threads;

/// Counts what passes.
class Counting final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  Request start(const Call& call, Stream& stream) override {
    counts.push_back(call.send.count);
    sent.push_back(call.send.data);
    received.push_back(call.receive.data);
    return ForwardingCommunicator::start(call, stream);
  }
  std::vector<std::int64_t> counts;
  std::vector<const void*> sent, received;
};

struct Started {
  std::vector<Shape> shapes;
  std::vector<PreparedCall> all;
  std::vector<Request> requests;

  void start(Communicator& over, const std::vector<Shape>& wanted) {
    shapes = wanted;
    for (const Shape& shape : shapes) all.push_back(prepared(shape, over.rank(), over.size()));
    for (PreparedCall& prepared_call : all)
      requests.push_back(over.start(prepared_call.call, stream_));
  }
  void expect_right() {
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(wrong(all[i], shapes[i]), "") << i;
  }

 private:
  HostStream stream_;
};

Shape fp32(std::int64_t count, ReduceOp op = ReduceOp::sum, bool in_place = false) {
  return {Collective::allreduce, count, DataType::fp32, op, in_place, 0};
}

TEST(Fusion, SmallTensorsGoTogetherAsFarAsTheyFit) {
  on_threads(3, [](Communicator& transport) {
    Counting counting(transport);
    const auto over = make_fusion(counting, 400);
    Started tensors;
    tensors.start(*over,
                  {fp32(30), fp32(60, ReduceOp::sum, true), fp32(20), fp32(200), fp32(0), fp32(1)});
    // 30 + 60 go when 20 does not fit, 20 when 200 does not; that goes alone at once.
    EXPECT_EQ(counting.counts, (std::vector<std::int64_t>{90, 20, 200}));
    for (Request& request : tensors.requests) over->wait(request);
    EXPECT_EQ(counting.counts, (std::vector<std::int64_t>{90, 20, 200, 1}));
    tensors.expect_right();
  });
}

TEST(Fusion, AnotherTypeOrOperationBeginsAnew) {
  on_threads(2, [](Communicator& transport) {
    Counting counting(transport);
    const auto over = make_fusion(counting, 4096);
    Started tensors;
    tensors.start(*over,
                  {fp32(8),
                   fp32(9, ReduceOp::max),
                   fp32(10, ReduceOp::average),
                   {Collective::allreduce, 11, DataType::bf16, ReduceOp::average, false, 0}});
    over->wait(tensors.requests.back());
    EXPECT_EQ(counting.counts, (std::vector<std::int64_t>{8, 9, 10, 11}));
    for (Request& request : tensors.requests) over->wait(request);
    tensors.expect_right();
  });
}

/// Three tensors of 10, of which the third is elsewhere: in no buffer, one of both, or both.
TEST(Fusion, TensorsSideBySideGoFromWhereTheyLie) {
  on_threads(2, [](Communicator& transport) {
    for (const std::int64_t send_gap : {0, 5})
      for (const std::int64_t receive_gap : {0, 5}) {
        Counting counting(transport);
        const auto over = make_fusion(counting, 4096);
        std::vector<float> mine(40), sums(40, -1);
        for (std::size_t i = 0; i < mine.size(); ++i)
          mine[i] = static_cast<float>(i) + static_cast<float>(transport.rank());
        HostStream stream;
        std::vector<Request> requests;
        for (const std::int64_t first : {0, 10, 20})
          requests.push_back(over->start(
              {Collective::allreduce,
               {mine.data() + first + (first == 20 ? send_gap : 0), 10, DataType::fp32},
               {sums.data() + first + (first == 20 ? receive_gap : 0), 10, DataType::fp32},
               ReduceOp::sum,
               0},
              stream));
        for (Request& request : requests) over->wait(request);
        EXPECT_EQ(counting.counts, std::vector<std::int64_t>{30});
        const bool apart = send_gap + receive_gap > 0;
        EXPECT_EQ(counting.sent.front() == mine.data(), !apart);
        EXPECT_EQ(counting.received.front() == sums.data(), !apart);
        for (std::int64_t i = 0; i < 30; ++i) {
          const std::int64_t from = i + (i < 20 ? 0 : send_gap),
                             to = i + (i < 20 ? 0 : receive_gap);
          EXPECT_EQ(sums[static_cast<std::size_t>(to)], static_cast<float>(2 * from + 1)) << i;
        }
        for (std::int64_t i = 20; i < 20 + receive_gap; ++i)
          EXPECT_EQ(sums[static_cast<std::size_t>(i)], -1);
        Execution execution;
        over->describe({}, execution);
        EXPECT_NE(execution.implementation.find(apart ? "fused in a buffer" : "where the data lie"),
                  std::string::npos);
      }
  });
}

TEST(Fusion, PollingSendsNothingAndWaitingDoes) {
  on_threads(2, [](Communicator& transport) {
    Counting counting(transport);
    const auto over = make_fusion(counting, 4096);
    Started tensors;
    tensors.start(*over, {fp32(5), fp32(6)});
    // Ranks poll differently often.
    for (int i = 0; i < 3 * transport.rank(); ++i) EXPECT_FALSE(over->done(tensors.requests[0]));
    EXPECT_TRUE(counting.counts.empty());
    over->wait(tensors.requests[0]);
    EXPECT_TRUE(over->done(tensors.requests[1]));
    EXPECT_EQ(counting.counts, (std::vector<std::int64_t>{11}));
    tensors.expect_right();
  });
}

TEST(Fusion, ComposesWithAnAlgorithmWhoseCallsStayUnderWay) {
  on_threads(4, [](Communicator& transport) {
    const auto ring = make("ring", transport);
    const auto over = make_fusion(*ring, 4000);
    for (int round = 0; round < 5; ++round) {
      Started tensors;
      std::vector<Shape> shapes;
      std::mt19937 random(static_cast<unsigned>(round));
      for (int i = 0; i < 60; ++i) shapes.push_back(fp32(static_cast<int>(random() % 1200)));
      tensors.start(*over, shapes);
      for (Request& request : tensors.requests) over->wait(request);
      tensors.expect_right();
    }
    EXPECT_GE(over->scratch_bytes(), 3 * 4000u);
    const auto none = make_fusion(*ring, 4);
    Started alone;
    alone.start(*none, {fp32(100), fp32(200)});
    for (Request& request : alone.requests) none->wait(request);
    Execution execution;
    none->describe({}, execution);
    EXPECT_NE(execution.implementation.find("nothing fused"), std::string::npos);
  });
}

}  // namespace test_fusion
}  // namespace assay
