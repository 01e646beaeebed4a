#include "comm/layers/wire.hpp"

#include "tests/comm/collective_check.hpp"

namespace assay {
namespace test_wire {

using namespace testing_comm;
using testing_fakes::on_threads;

TEST(Wire, IsExactOnDataThatTheWireHolds) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    on_threads(ranks, [](Communicator& transport) {
      for (const DataType wire : {DataType::fp16, DataType::bf16}) {
        const auto over = wire_compressed(transport, wire);
        for (const DataType type : {DataType::fp32, DataType::fp64})
          for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max})
            for (const std::int64_t count : {0, 1, 7, 1000, 20011})
              for (const bool in_place : {false, true})
                check(*over, {Collective::allreduce, count, type, op, in_place, 0});
      }
    });
  }
}

/// Data with full significands: the worst error over the bound, and over the bound that a sum made
/// in the wire's own type would need.
double worst(Communicator& transport, DataType wire, DataType type, ReduceOp op) {
  const auto over = wire_compressed(transport, wire);
  const int ranks = transport.size();
  constexpr int count = 5003;
  const auto datum = [&](int rank, int i) {
    const double magnitude = 1 + std::fmod((rank * 71 + i * 37) * 0.6180339887498949, 1.0);
    return round_to(type,
                    (i % 3 == 0 && rank % 2 == 1 ? -1 : 1) * magnitude * std::ldexp(1, i % 11 - 8));
  };
  Memory send(type, count), receive(type, count);
  std::vector<double> mine;
  for (int i = 0; i < count; ++i) mine.push_back(datum(transport.rank(), i));
  send.set(mine);
  HostStream stream;
  over->run({Collective::allreduce, send.buffer(), receive.buffer(), op, 0}, stream);
  const std::vector<double> got = receive.values();
  double most = 0;
  for (int i = 0; i < count; ++i) {
    double exact = datum(0, i), absolute = std::fabs(exact);
    for (int rank = 1; rank < ranks; ++rank) {
      const double contribution = datum(rank, i);
      const bool picks = op == ReduceOp::min || op == ReduceOp::max;
      exact = op == ReduceOp::min   ? std::min(exact, contribution)
              : op == ReduceOp::max ? std::max(exact, contribution)
                                    : exact + contribution;
      absolute =
          picks ? std::max(absolute, std::fabs(contribution)) : absolute + std::fabs(contribution);
    }
    if (op == ReduceOp::average) exact /= ranks;
    most = std::max(most, std::fabs(got[static_cast<std::size_t>(i)] - exact) /
                              wire_bound(wire, type, op, ranks, exact, absolute));
  }
  return most;
}

TEST(Wire, ErrorStaysWithinTheDerivedBoundAndComesNearIt) {
  for (const int ranks : {2, 3, 8}) {
    on_threads(ranks, [](Communicator& transport) {
      for (const DataType wire : {DataType::fp16, DataType::bf16})
        for (const DataType type : {DataType::fp32, DataType::fp64})
          for (const ReduceOp op :
               {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max}) {
            const double most = worst(transport, wire, type, op);
            EXPECT_LE(most, 1) << name(wire) << " " << name(op);
            // A bound that nothing comes near would let errors pass.
            EXPECT_GE(most, 0.15) << name(wire) << " " << name(op) << " " << transport.size();
          }
    });
  }
}

TEST(Wire, SumsInFp32NotInTheWiresType) {
  // 256 + 1 is 256 in bf16, however often one adds.
  on_threads(5, [](Communicator& transport) {
    const auto over = wire_compressed(transport, DataType::bf16);
    float mine = transport.rank() == 0 ? 256.f : 1.f, sum = 0;
    HostStream stream;
    over->run({Collective::allreduce,
               {&mine, 1, DataType::fp32},
               {&sum, 1, DataType::fp32},
               ReduceOp::sum,
               0},
              stream);
    EXPECT_EQ(sum, 260.f);
  });
}

TEST(Wire, RefusesWhatItCannotCompress) {
  on_threads(2, [](Communicator& transport) {
    const auto over = wire_compressed(transport, DataType::fp16);
    std::vector<double> data(8);
    const Buffer integers{data.data(), 4, DataType::s32}, floats{data.data(), 4, DataType::fp32};
    const auto why = [&](const Communicator& asked, Collective what, Buffer buffer) {
      return asked.why_not({what, buffer, buffer, ReduceOp::sum, 0});
    };
    EXPECT_EQ(why(*over, Collective::allreduce, integers),
              "wire=fp16 compresses fp32 and fp64 (the data are s32)");
    EXPECT_EQ(why(*over, Collective::broadcast, floats),
              "no broadcast with wire=fp16 (allreduce has it)");
    const auto ring = make("ring", transport);
    EXPECT_NE(why(*wire_compressed(*ring, DataType::bf16), Collective::allreduce, floats)
                  .find("wire=bf16 needs alltoall and allgather: ring does not implement alltoall"),
              std::string::npos);
    EXPECT_THROW(wire_compressed(transport, DataType::fp32), InputError);
    HostStream stream;
    EXPECT_THROW(over->run({Collective::broadcast, {}, floats, ReduceOp::sum, 0}, stream),
                 CaseError);
  });
}

TEST(Wire, GoesThroughSharedMemoryToo) {
  on_threads(3, [](Communicator& transport) {
    const auto shared = make("shared_memory", transport);
    const auto over = wire_compressed(*shared, DataType::fp16);
    check(*over, {Collective::allreduce, 100003, DataType::fp32, ReduceOp::sum, true, 0});
  });
}

}  // namespace test_wire
}  // namespace assay
