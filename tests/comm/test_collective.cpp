// Every collective as a problem: what is right passes on every rank, and one wrong bit on one rank
// does not.

#include "comm/collective.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/measure/timing.hpp"
#include "tests/comm/collective_bench.hpp"

namespace assay {
namespace test_collective {

using testing_fakes::on_threads;
using testing_fakes::rank_case;
using testing_fakes::SpoilingCommunicator;

constexpr DataType types[] = {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16,
                              DataType::s32};

std::string shown(const CollectiveShape& shape) {
  return fmt::format("{} {} {} {} bytes, {} ranks, in place {}, root {}", name(shape.pattern),
                     name(shape.type), name(shape.op), shape.bytes, shape.ranks, shape.in_place,
                     shape.root);
}

/// Every pattern, type, operation and placement that `ranks` have.
std::vector<CollectiveShape> shapes(int ranks, std::int64_t per_part) {
  std::vector<CollectiveShape> all;
  for (const std::string& pattern : list_pattern_names())
    for (const DataType type : types)
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max, ReduceOp::average})
        for (const bool in_place : {false, true}) {
          CollectiveShape shape;
          shape.pattern = find_pattern(pattern);
          if (shape.pattern == Pattern::barrier) continue;
          if (!reduces(shape.pattern) && op != ReduceOp::sum) continue;
          if (shape.pattern == Pattern::broadcast && in_place) continue;
          shape.type = type;
          shape.op = op;
          shape.ranks = ranks;
          shape.in_place = in_place;
          shape.root = has_root(shape.pattern) ? ranks - 1 : 0;
          shape.bytes = per_part * ranks * static_cast<std::int64_t>(size_of(type));
          if (why_not_problem(shape).empty()) all.push_back(shape);
        }
  return all;
}

TEST(Collective, WhatIsRightPassesOnEveryRank) {
  for (const int ranks : {1, 2, 3, 5})
    for (const CollectiveShape& shape : shapes(ranks, 29))
      on_threads(ranks, [&](Communicator& here) {
        const auto rank =
            rank_case(shape, here, std::make_unique<SpoilingCommunicator>(here, nullptr));
        const Verification before = rank->workload->verify_before();
        EXPECT_TRUE(before.passed) << shown(shape) << ": " << before.reason;
        rank->workload->reset();
        rank->workload->run(rank->workload->stream());
        const Verification after = rank->workload->verify_after();
        EXPECT_TRUE(after.passed) << shown(shape) << ": " << after.reason;
        if (shape.op != ReduceOp::average) {
          EXPECT_EQ(before.max_error, 0) << shown(shape);
        }
        if (before.outputs > 0) {
          EXPECT_GT(before.checked, 0) << shown(shape);
        }
      });
}

TEST(Collective, NonblockingCallsAreTheSameProblem) {
  on_threads(3, [&](Communicator& here) {
    CollectiveShape shape;
    shape.ranks = 3;
    shape.bytes = 1200;
    const auto rank =
        rank_case(shape, here, std::make_unique<SpoilingCommunicator>(here, nullptr), true);
    EXPECT_TRUE(rank->workload->verify_before().passed);
    EXPECT_NE(rank->workload->execution().implementation.find("waited for"), std::string::npos);
  });
}

/// Changes the last bit of one element of what a call has written.
void flip(Buffer data, std::int64_t index) {
  auto* byte = static_cast<unsigned char*>(data.part(index, 1).data);
  *byte ^= 1;  // little endian: the least significant bit
}

TEST(Collective, OneWrongBitOnOneRankIsIncorrect) {
  for (const CollectiveShape& shape : shapes(3, 41)) {
    if (shape.op == ReduceOp::average) continue;  // within 2 units in the last place it may
    if (is_exchange(shape.pattern)) continue;     // no call: below
    for (const int victim : {0, 2}) {
      if (shape.pattern == Pattern::reduce && victim != shape.root) continue;  // has no output
      std::atomic<int> wrong = 0;
      on_threads(3, [&](Communicator& here) {
        auto spoiled = std::make_unique<SpoilingCommunicator>(here, [&](const Call& call) {
          if (here.rank() == victim) flip(call.receive, call.receive.count - 1);
        });
        const auto rank = rank_case(shape, here, std::move(spoiled));
        const Verification before = rank->workload->verify_before();
        if (!before.passed) ++wrong;
        EXPECT_EQ(before.passed, here.rank() != victim) << shown(shape) << ", rank " << here.rank();
      });
      EXPECT_EQ(wrong, 1) << shown(shape);
    }
  }
}

/// A transport that moves nothing from some call or message on.
class Lazy final : public ForwardingCommunicator {
 public:
  Lazy(Communicator& under, int honest) : ForwardingCommunicator(under), honest_(honest) {}
  void run(const Call& call, Stream& stream) override {
    if (honest_-- > 0) under().run(call, stream);
  }
  Request send(Buffer data, int to, int tag, Stream& stream) override {
    return honest_-- > 0 ? under().send(data, to, tag, stream) : own_request(0);
  }
  Request receive(Buffer data, int from, int tag, Stream& stream) override {
    return honest_-- > 0 ? under().receive(data, from, tag, stream) : own_request(0);
  }
  void wait(Request& request) override {
    if (!is_own(request)) under().wait(request);
  }

 private:
  int honest_;
};

/// True if any of three ranks found that their transport is lazy. A rank whose own data are its
/// result has nothing to be found.
bool laziness_found(const CollectiveShape& shape, int honest) {
  std::atomic<bool> wrong = false;
  on_threads(3, [&](Communicator& here) {
    const auto made = rank_case(shape, here, std::make_unique<Lazy>(here, honest));
    Verification found = made->workload->verify_before();
    double failed = found.passed ? 0 : 1;
    here.allreduce_max(std::span(&failed, 1));
    if (failed == 0) {
      TimingOptions options;
      options.max_time = 0.001;
      found = measure(*made->workload, here, options).audits;
    }
    if (!found.passed) wrong = true;
  });
  return wrong;
}

TEST(Collective, ATransportThatStopsMovingDataIsFoundOut) {
  // One type and one reduction suffice: moved data is not looked at.
  for (const std::int64_t per_part : {41, 5000})
    for (const CollectiveShape& shape : shapes(3, per_part)) {
      if (shape.op != ReduceOp::sum || shape.type != DataType::fp32) continue;
      const int of_run = shape.pattern == Pattern::sendrecv    ? 2  // messages, else calls
                         : shape.pattern == Pattern::alltoallv ? 4
                                                               : 1;
      for (const int honest : {1, 6})  // before timing, and in the timed phase
        for (int trial = 1; trial <= 8; ++trial)
          ASSERT_TRUE(laziness_found(shape, of_run * honest))
              << shown(shape) << " after " << honest << ", trial " << trial;
    }
}

TEST(Collective, ABarrierThatStopsWaitingIsFoundOut) {
  CollectiveShape shape;
  shape.pattern = Pattern::barrier;
  shape.ranks = 3;
  for (const int honest : {1, 6})
    for (int trial = 1; trial <= 20; ++trial)
      ASSERT_TRUE(laziness_found(shape, honest)) << "after " << honest << ", trial " << trial;
}

TEST(Collective, WhatIsNotWrittenIsIncorrect) {
  for (const CollectiveShape& shape : shapes(2, 16)) {
    if (is_exchange(shape.pattern)) continue;
    std::atomic<int> wrong = 0;
    on_threads(2, [&](Communicator& here) {
      const auto rank =
          rank_case(shape, here, std::make_unique<SpoilingCommunicator>(here, nullptr, false));
      if (!rank->workload->verify_before().passed) ++wrong;
    });
    EXPECT_GE(wrong, 1) << shown(shape);
  }
}

TEST(Collective, ARootThatLosesItsOwnDataIsIncorrect) {
  CollectiveShape shape;
  shape.pattern = Pattern::broadcast;
  shape.ranks = 2;
  shape.bytes = 64;
  on_threads(2, [&](Communicator& here) {
    auto spoiled = std::make_unique<SpoilingCommunicator>(here, [&](const Call& call) {
      if (here.rank() == 0) flip(call.receive, 0);
    });
    const auto rank = rank_case(shape, here, std::move(spoiled));
    const Verification before = rank->workload->verify_before();
    EXPECT_EQ(before.passed, here.rank() == 1);
  });
}

TEST(Collective, SumsThatWereRoundedToLessAreIncorrect) {
  // A transport that sums fp32 as bf16 gives small integers exactly: full significands show it.
  CollectiveShape shape;
  shape.ranks = 2;
  shape.bytes = 4 * 100;
  on_threads(2, [&](Communicator& here) {
    auto spoiled = std::make_unique<SpoilingCommunicator>(here, [&](const Call& call) {
      auto* values = static_cast<float*>(call.receive.data);
      for (std::int64_t i = 0; i < call.receive.count; ++i)
        values[i] = static_cast<float>(round_to(DataType::bf16, values[i]));
    });
    const auto rank = rank_case(shape, here, std::move(spoiled));
    EXPECT_FALSE(rank->workload->verify_before().passed);
  });
}

TEST(Collective, AnAverageMayMissByTwoUnitsInTheLastPlaceAndNoMore) {
  CollectiveShape shape;
  shape.op = ReduceOp::average;
  shape.ranks = 3;
  shape.bytes = 4 * 300;
  for (const int units : {1, 200})
    on_threads(3, [&](Communicator& here) {
      auto spoiled = std::make_unique<SpoilingCommunicator>(here, [&](const Call& call) {
        auto* values = static_cast<float*>(call.receive.data);
        for (std::int64_t i = 0; i < call.receive.count; ++i)
          for (int step = 0; step < units; ++step) values[i] = std::nextafter(values[i], 2.0F);
      });
      const auto rank = rank_case(shape, here, std::move(spoiled));
      EXPECT_EQ(rank->workload->verify_before().passed, units == 1) << units;
    });
}

TEST(Collective, ABarrierIsJudgedByCausality) {
  CollectiveShape shape;
  shape.pattern = Pattern::barrier;
  shape.ranks = 3;
  on_threads(3, [&](Communicator& here) {
    const auto good = rank_case(shape, here, std::make_unique<SpoilingCommunicator>(here, nullptr));
    EXPECT_TRUE(good->workload->verify_before().passed);
    // One that returns at once.
    const auto bad =
        rank_case(shape, here, std::make_unique<SpoilingCommunicator>(here, nullptr, false));
    const Verification judged = bad->workload->verify_before();
    EXPECT_FALSE(judged.passed);
    EXPECT_NE(judged.reason.find("left the barrier"), std::string::npos) << judged.reason;
  });
}

TEST(Collective, RatesAreThoseOfTheirSources) {
  CollectiveShape shape;
  shape.ranks = 4;
  shape.bytes = 400;
  const auto factor = [&](Pattern pattern) {
    shape.pattern = pattern;
    return CollectiveProblem(shape).busbw_factor();
  };
  EXPECT_EQ(factor(Pattern::reduce_scatter), 0.75);
  EXPECT_EQ(factor(Pattern::allgather), 0.75);
  EXPECT_EQ(factor(Pattern::alltoall), 0.75);
  EXPECT_EQ(factor(Pattern::broadcast), 1);
  EXPECT_EQ(factor(Pattern::reduce), 1);
  EXPECT_EQ(factor(Pattern::sendrecv), 1);
  EXPECT_EQ(factor(Pattern::allreduce), 1.5);
  EXPECT_EQ(factor(Pattern::alltoallv), 0.75) << "equal parts";
  shape.zipf = 1;  // of 100 elements rank 0 gets 48 of each of the others
  EXPECT_EQ(factor(Pattern::alltoallv), 3 * 0.48);
  shape.pattern = Pattern::allreduce;
  const CollectiveProblem problem(shape);
  EXPECT_EQ(problem.amounts().at("algbw"), 400);
  EXPECT_EQ(problem.amounts().at("busbw"), 600);
  EXPECT_EQ(problem.amounts().at("deepbench_bw"), 1600);
  EXPECT_EQ(problem.amounts().size(), 3u) << "and no others";
  EXPECT_EQ(problem.json().at("elements"), 100);
  EXPECT_EQ(problem.canonical(), "400");
}

TEST(Collective, OneRankAndABarrierHaveNoBandwidth) {
  CollectiveShape shape;
  shape.bytes = 400;
  for (const std::string& each : list_pattern_names()) {
    const Pattern pattern = shape.pattern = find_pattern(each);
    shape.ranks = 1;
    EXPECT_TRUE(CollectiveProblem(shape).amounts().empty()) << name(pattern);
    shape.ranks = 2;
    EXPECT_EQ(CollectiveProblem(shape).amounts().empty(), pattern == Pattern::barrier);
  }
}

TEST(Collective, NamesOfPatternsAndReductionsAreReadBack) {
  for (const std::string& each : list_pattern_names()) EXPECT_EQ(name(find_pattern(each)), each);
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max, ReduceOp::average})
    EXPECT_EQ(reduce_op(std::string(name(op))), op);
  EXPECT_EQ(list_pattern_names().size(), 10u);
  EXPECT_EQ(list_reduce_op_names().size(), 4u);
  EXPECT_THROW(find_pattern("allredcue"), InputError);
  EXPECT_THROW(reduce_op("product"), InputError);
}

TEST(Collective, BytesThatAreNotWholeElementsAreRefused) {
  CollectiveShape shape;
  shape.ranks = 3;
  const auto message = [&](Pattern pattern, std::int64_t bytes) -> std::string {
    shape.pattern = pattern;
    shape.bytes = bytes;
    try {
      const CollectiveProblem problem(shape);
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message(Pattern::allreduce, 4), "");
  EXPECT_NE(message(Pattern::allreduce, 6).find("multiple of 4 (the next lower one is 4)"),
            std::string::npos);
  EXPECT_NE(message(Pattern::allreduce, 0).find("moves nothing"), std::string::npos);
  EXPECT_EQ(message(Pattern::allgather, 12), "");
  EXPECT_NE(message(Pattern::reduce_scatter, 16).find("for each of 3 ranks"), std::string::npos);
  EXPECT_EQ(message(Pattern::barrier, 0), "");
}

TEST(Collective, ManyRanksInFewBitsAddUpInGroups) {
  // bf16 holds 8 bits: sums of more than 128 values would be rounded on the way.
  CollectiveShape shape;
  shape.type = DataType::bf16;
  shape.bytes = 2;
  TensorSpec spec;
  spec.type = DataType::bf16;
  for (const int ranks : {4, 128, 300}) {
    shape.ranks = ranks;
    const auto oracle = make_collective_oracle(CollectiveProblem(shape), 0);
    EXPECT_EQ(oracle->groups({}), ranks == 300 ? 5 : 1);
    EXPECT_EQ(oracle->fixed_bits(spec, {}), ranks == 4 ? 6 : ranks == 128 ? 1 : 2);
    EXPECT_EQ(oracle->exact_magnitude({}), ranks == 4 ? 64 : ranks == 128 ? 2 : 4);
  }
}

TEST(Collective, SumsOfManyRanksInFewBitsAreExactInAnyOrder) {
  for (const DataType type : {DataType::bf16, DataType::fp16})
    for (const int ranks : {129, 256, 300, 1000, 5000}) {
      CollectiveShape shape;
      shape.type = type;
      shape.bytes = 64;
      shape.ranks = ranks;
      const auto oracle = make_collective_oracle(CollectiveProblem(shape), 0);
      TensorSpec spec;
      spec.name = "receive";
      spec.role = Role::output;
      spec.type = type;
      for (const bool exact : {false, true}) {
        const Values sent =
            Values(exact ? Values::Kind::integer : Values::Kind::fixed, 1, "send", type,
                   exact ? oracle->exact_magnitude({}) : oracle->fixed_bits(spec, {}))
                .in_groups(oracle->groups({}));
        std::vector<double> sums(32), some(32);
        std::vector<bool> seen(static_cast<std::size_t>(ranks));
        for (int rank = ranks; rank-- > 0;) {  // the other order than the oracle's
          sent.of_rank(rank).fill(0, some);
          for (std::size_t i = 0; i < sums.size(); ++i) {
            sums[i] = round_to(type, sums[i] + some[i]);
            if (some[i] != 0) seen[static_cast<std::size_t>(rank)] = true;
          }
        }
        std::vector<std::int64_t> indices(32);
        std::iota(indices.begin(), indices.end(), 0);
        std::vector<Expected> expected(32);
        oracle->expect(spec, {{"send", sent}}, {}, exact, indices, expected);
        double largest = 0;
        for (std::size_t i = 0; i < sums.size(); ++i) {
          ASSERT_EQ(sums[i], expected[i].value) << name(type) << " " << ranks << " " << i;
          ASSERT_EQ(expected[i].max_bound, 0);
          largest = std::max(largest, std::abs(sums[i]));
        }
        EXPECT_GT(largest, 0);
        // 32 elements show at least one rank of each group, and most of all.
        if (oracle->groups({}) <= 8) {
          EXPECT_GT(std::count(seen.begin(), seen.end(), true), ranks / 2) << ranks;
        }
      }
    }
}

}  // namespace test_collective
}  // namespace assay
