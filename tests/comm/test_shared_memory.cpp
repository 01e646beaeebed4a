// The shared-memory algorithm across real processes, with nothing else between them.
#include "comm/algorithms/shared_memory.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "comm/algorithms/shared_segment.hpp"
#include "comm/algorithms/store_choice.hpp"
#include "comm/algorithms/streamed_copy.hpp"
#include "comm/forwarding.hpp"
#include "core/base/error.hpp"
#include "tests/comm/collective_check.hpp"

namespace assay {
namespace test_shared_memory {

using namespace testing_comm;

/// Memory that forked ranks share before they have a segment: enough for allgather().
struct Board {
  std::atomic<int> arrived[2] = {};
  std::atomic<int> left[2] = {};
  char texts[8][256] = {};
};

/// A forked rank. It can gather; everything else is the serial communicator's, and not used.
class ForkedRank final : public ForwardingCommunicator {
 public:
  ForkedRank(Communicator& serial, Board& board, int rank, int size)
      : ForwardingCommunicator(serial), board_(board), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::vector<std::string> allgather(const std::string& text) override {
    text.copy(board_.texts[rank_], sizeof board_.texts[0] - 1);
    board_.texts[rank_][text.size()] = 0;
    meet(0);
    std::vector<std::string> all(board_.texts, board_.texts + size_);
    meet(1);
    return all;
  }
  void barrier() override { allgather(""); }
  void allreduce_max(std::span<double> values) override {
    std::string text;
    for (const double value : values) text += fmt::format("{} ", value);
    for (const std::string& other : allgather(text)) {
      std::istringstream theirs(other);
      for (double& value : values) {
        double read = 0;
        theirs >> read;
        value = std::max(value, read);
      }
    }
  }

 private:
  void meet(int which) {
    const int round = ++rounds_[which];
    ++board_.arrived[which];
    while (board_.arrived[which] < round * size_) std::this_thread::yield();
  }
  Board& board_;
  int rank_, size_;
  int rounds_[2] = {};
};

/// Runs `body` in `size` processes; their exit codes (128 + signal where one killed it).
std::vector<int> in_processes(int size, const std::function<bool(Communicator&)>& body) {
  void* memory =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Board& board = *new (memory) Board;
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      const auto serial = make_serial_communicator();
      ForkedRank ranks(*serial, board, rank, size);
      const bool passed = body(ranks) && !testing::Test::HasFailure();
      _exit(passed ? 0 : 1);
    }
    children.push_back(child);
  }
  std::vector<int> codes;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  munmap(memory, sizeof(Board));
  return codes;
}

std::unique_ptr<Communicator> made_or_null(Communicator& ranks, std::optional<bool> streamed = {}) {
  auto made = shared_memory(ranks, streamed);
  if (auto* refusal = std::get_if<Unsupported>(&made)) {
    ADD_FAILURE() << refusal->reason;
    return nullptr;
  }
  return std::move(std::get<std::unique_ptr<Communicator>>(made));
}

/// Names in /dev/shm that are ours.
std::set<std::string> left_behind() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    if (entry.path().filename().string().rfind("assay-", 0) == 0) names.insert(entry.path());
  return names;
}

TEST(SharedMemoryProcesses, EveryCollectiveIsRightAmongRealProcesses) {
  for (const int size : {2, 3, 5}) {
    const std::vector<int> codes = in_processes(size, [](Communicator& ranks) {
      const auto communicator = made_or_null(ranks);
      if (!communicator) return false;
      std::mt19937 random(3);
      for (int call = 0; call < 150; ++call) {
        constexpr Collective all[] = {Collective::allreduce,      Collective::reduce,
                                      Collective::reduce_scatter, Collective::allgather,
                                      Collective::broadcast,      Collective::alltoall};
        check(*communicator, random_shape(random, all[random() % 6], ranks.size()));
      }
      check(*communicator,
            {Collective::allreduce, 1000003, DataType::fp32, ReduceOp::sum, true, 0});
      HostStream stream;
      communicator->run({Collective::barrier, {}, {}, ReduceOp::sum, 0}, stream);
      return true;
    });
    EXPECT_EQ(codes, std::vector<int>(static_cast<std::size_t>(size), 0)) << size;
  }
}

TEST(SharedMemoryProcesses, RegisteredBuffersAreReadAndWrittenWhereTheyAre) {
  for (const int size : {2, 3, 5}) {
    const std::vector<int> codes = in_processes(size, [](Communicator& ranks) {
      const auto communicator = made_or_null(ranks);
      if (!communicator) return false;
      const Allocate registered = [&](std::size_t bytes) { return communicator->allocate(bytes); };
      // Each rank has its own buffers where it likes.
      std::mt19937 random(5), own(static_cast<unsigned>(ranks.rank()));
      for (int call = 0; call < 150; ++call) {
        constexpr Collective all[] = {Collective::allreduce,      Collective::reduce,
                                      Collective::reduce_scatter, Collective::allgather,
                                      Collective::broadcast,      Collective::alltoall};
        const Shape shape = random_shape(random, all[random() % 6], ranks.size());
        const bool everywhere = random() % 2 == 0;
        check(*communicator, shape, false, everywhere || own() % 2 == 0 ? registered : Allocate(),
              everywhere || own() % 2 == 0 ? registered : Allocate());
      }
      for (const bool in_place : {false, true})
        for (const Collective what : {Collective::allreduce, Collective::alltoall})
          check(*communicator, {what, 300007, DataType::fp32, ReduceOp::sum, in_place, 0}, false,
                registered, registered);
      return true;
    });
    EXPECT_EQ(codes, std::vector<int>(static_cast<std::size_t>(size), 0)) << size;
  }
}

/// Results of more bytes are written past the caches; nothing where that is not done here.
std::optional<std::size_t> streamed_from() {
  const std::size_t bytes = find_least_streamed_bytes();
  return bytes < std::size_t{1} << 28 ? std::optional(bytes) : std::nullopt;
}

TEST(SharedMemoryProcesses, LongResultsAreRight) {
  const std::optional<std::size_t> bytes = streamed_from();
  if (!bytes) GTEST_SKIP() << "nothing is written past this processor's caches";
  for (const auto& [size, streamed] : {std::tuple(2, true), {3, true}, {2, false}}) {
    const std::vector<int> codes = in_processes(size, [bytes,
                                                       streamed = streamed](Communicator& ranks) {
      const auto communicator = made_or_null(ranks, streamed);
      if (!communicator) return false;
      const Allocate registered = [&](std::size_t some) { return communicator->allocate(some); };
      // Each rank's begin elsewhere in a line of the cache.
      const Allocate shifted = [&](std::size_t some) -> std::shared_ptr<void> {
        const auto all = std::make_shared<std::byte[]>(some + 64);
        return {all, all.get() + 16 + 8 * ranks.rank()};
      };
      const Allocate mixed = ranks.rank() == 0 ? registered : shifted;
      const std::array<Allocate, 4> memories{Allocate(), registered, shifted, mixed};
      for (const Allocate& memory : memories)
        for (const auto& [type, op, in_place] :
             {std::tuple(DataType::fp32, ReduceOp::sum, false),
              std::tuple(DataType::fp32, ReduceOp::sum, true),
              std::tuple(DataType::fp32, ReduceOp::average, false),
              std::tuple(DataType::fp16, ReduceOp::sum, false)})
          for (const Collective what :
               {Collective::allreduce, Collective::reduce, Collective::reduce_scatter,
                Collective::allgather, Collective::broadcast, Collective::alltoall}) {
            if (op != ReduceOp::sum && !combines(what)) continue;
            if (in_place && what == Collective::broadcast) continue;
            // Both kinds of memory of the ranks are in the last; the others have one type.
            const bool plain = type == DataType::fp32 && op == ReduceOp::sum && !in_place;
            if (!plain && &memory != std::prev(std::end(memories))) continue;
            const bool parts = what == Collective::allgather || what == Collective::alltoall;
            const auto count =
                static_cast<std::int64_t>(*bytes / size_of(type) / (parts ? 2 : 1) + 36);
            const std::int64_t rest = parts ? 0 : 1;
            check(*communicator, {what, count + rest, type, op, in_place, 0}, false, memory,
                  memory);
          }
      return true;
    });
    EXPECT_EQ(codes, std::vector<int>(static_cast<std::size_t>(size), 0)) << size;
  }
}

/// The longer call would else write beyond the end of the shorter one's buffer.
TEST(SharedMemoryProcesses, CallsOfUnequalSizesAreRefusedBeforeAnythingIsWritten) {
  for (const bool registered : {false, true}) {
    const std::vector<int> codes = in_processes(2, [registered](Communicator& ranks) {
      const auto communicator = made_or_null(ranks);
      if (!communicator) return false;
      const std::int64_t count = ranks.rank() == 0 ? 1000 : 1000000;
      const auto memory = [&](std::size_t bytes) {
        return registered ? communicator->allocate(bytes)
                          : std::shared_ptr<void>(std::make_shared<std::byte[]>(bytes));
      };
      PreparedCall all =
          prepared({Collective::allreduce, count, DataType::fp32, ReduceOp::sum, false, 0},
                   ranks.rank(), 2, memory, memory);
      communicator->prepare(all.call);
      HostStream stream;
      try {
        communicator->run(all.call, stream);
      } catch (const CaseError& error) {
        return std::string(error.what()).find("makes another call (allreduce of 100") !=
               std::string::npos;
      }
      return false;
    });
    EXPECT_EQ(codes, std::vector<int>(2, 0)) << registered;
  }
}

bool says_streamed(const Communicator& communicator, std::int64_t count, int rank,
                   const Allocate& memory = {}) {
  const PreparedCall all =
      prepared({Collective::allreduce, count, DataType::fp32, ReduceOp::sum, false, 0}, rank, 2,
               memory, memory);
  Execution execution;
  communicator.describe(all.call, execution);
  return execution.implementation.find("past the caches") != std::string::npos;
}

TEST(SharedMemoryProcesses, OnlyLongResultsGoPastTheCaches) {
  const std::optional<std::size_t> bytes = streamed_from();
  if (!bytes) GTEST_SKIP() << "nothing is written past this processor's caches";
  const auto count = static_cast<std::int64_t>(*bytes / 4);
  for (const bool streamed : {false, true}) {
    const std::vector<int> codes = in_processes(2, [count, streamed](Communicator& ranks) {
      const auto communicator = made_or_null(ranks, streamed);
      if (!communicator) return false;
      EXPECT_FALSE(says_streamed(*communicator, count, ranks.rank()));
      EXPECT_EQ(says_streamed(*communicator, count + 1, ranks.rank()), streamed);
      return true;
    });
    EXPECT_EQ(codes, std::vector<int>(2, 0)) << streamed;
  }
}

/// Whichever it is: nothing without a measurement, then the same on all ranks, and for one kind of
/// memory as for another only by chance, so each has its own.
TEST(SharedMemoryProcesses, TheWayOfLongResultsIsMeasured) {
  const std::optional<std::size_t> bytes = streamed_from();
  if (!bytes) GTEST_SKIP() << "nothing is written past this processor's caches";
  const std::vector<int> codes = in_processes(2, [bytes](Communicator& ranks) {
    const auto communicator = made_or_null(ranks);
    if (!communicator) return false;
    const Allocate registered = [&](std::size_t some) { return communicator->allocate(some); };
    const auto count = static_cast<std::int64_t>(*bytes / 4) + 100;
    const Shape shape{Collective::allreduce, count, DataType::fp32, ReduceOp::sum, false, 0};
    EXPECT_FALSE(says_streamed(*communicator, count, ranks.rank()));
    for (const Allocate& memory : {Allocate(), registered}) {
      check(*communicator, shape, false, memory, memory);
      double streamed[] = {says_streamed(*communicator, count, ranks.rank(), memory) ? 1. : 0., 0};
      streamed[1] = -streamed[0];
      ranks.allreduce_max(streamed);
      EXPECT_EQ(streamed[0], -streamed[1]);
    }
    return true;
  });
  EXPECT_EQ(codes, std::vector<int>(2, 0));
}

TEST(StoreChoice, TheFasterWayIsTaken) {
  const auto serial = make_serial_communicator();
  for (const bool slow : {false, true}) {
    int runs[2] = {};
    const bool streamed = is_faster_when_streamed(*serial, [&](bool way) {
      ++runs[way];
      if (way == slow) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
    EXPECT_EQ(streamed, !slow);
    EXPECT_EQ(runs[0], runs[1]);
  }
}

/// The row says how the data went, and nothing is put into the places of the segment.
TEST(SharedMemoryProcesses, RegisteredBuffersAreSaidToBe) {
  const std::vector<int> codes = in_processes(2, [](Communicator& ranks) {
    const auto communicator = made_or_null(ranks);
    if (!communicator) return false;
    const Allocate registered = [&](std::size_t bytes) { return communicator->allocate(bytes); };
    const Shape shape{Collective::allreduce, 1000, DataType::fp32, ReduceOp::sum, false, 0};
    PreparedCall all = prepared(shape, ranks.rank(), 2, registered, registered),
                 ordinary = prepared(shape, ranks.rank(), 2);
    const auto said = [&](const PreparedCall& prepared_call) {
      Execution execution;
      communicator->describe(prepared_call.call, execution);
      return execution.implementation;
    };
    EXPECT_EQ(said(all).find("read where they stand"), std::string::npos) << "not yet prepared";
    communicator->prepare(all.call);
    EXPECT_NE(said(all).find("contributions read where they stand, results put where they belong"),
              std::string::npos)
        << said(all);
    EXPECT_EQ(said(ordinary).find("where they"), std::string::npos) << said(ordinary);
    return true;
  });
  EXPECT_EQ(codes, std::vector<int>(2, 0));
}

TEST(SharedMemoryProcesses, AKilledRankLeavesNothingBehind) {
  const std::set<std::string> before = left_behind();
  const std::vector<int> codes = in_processes(3, [](Communicator& ranks) {
    const auto communicator = made_or_null(ranks);
    if (!communicator) return false;
    check(*communicator, {Collective::allreduce, 100000, DataType::fp32, ReduceOp::sum, false, 0});
    raise(SIGKILL);
    return false;
  });
  EXPECT_EQ(codes, std::vector<int>(3, 128 + SIGKILL));
  EXPECT_EQ(left_behind(), before);
}

TEST(SharedMemoryProcesses, ABarrierHoldsUntilTheLastHasCome) {
  auto* const come =
      static_cast<std::atomic<int>*>(mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const std::vector<int> codes = in_processes(4, [come](Communicator& ranks) {
    const auto communicator = made_or_null(ranks);
    if (!communicator) return false;
    HostStream stream;
    for (int round = 1; round <= 200; ++round) {
      ++*come;
      communicator->run({Collective::barrier, {}, {}, ReduceOp::sum, 0}, stream);
      if (*come < 4 * round) return false;
    }
    return true;
  });
  EXPECT_EQ(codes, std::vector<int>(4, 0));
  munmap(come, sizeof(std::atomic<int>));
}

TEST(SharedSegment, IsOneMemoryForAllAndTellsWhenItCannotBeHad) {
  const std::vector<int> codes = in_processes(2, [](Communicator& ranks) {
    auto made = SharedSegment::make(ranks, 10000);
    auto* segment = std::get_if<std::unique_ptr<SharedSegment>>(&made);
    if (!segment) return false;
    (*segment)->of_rank(ranks.rank())[9999] = std::byte(ranks.rank() + 1);
    ranks.allgather("");
    const bool seen = (*segment)->of_rank(1 - ranks.rank())[9999] == std::byte(2 - ranks.rank());
    // More than any /dev/shm: a reason on every rank, not a bus error at the first touch.
    auto refused = SharedSegment::make(ranks, std::size_t{1} << 46);
    const auto* reason = std::get_if<Unsupported>(&refused);
    return seen && reason && reason->reason.find("no shared segment (rank") == 0;
  });
  EXPECT_EQ(codes, std::vector<int>(2, 0));
}

/// Says another process of the same transport has made the segment.
class Elsewhere final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  std::vector<std::string> allgather(const std::string& text) override {
    std::vector<std::string> all = ForwardingCommunicator::allgather(text);
    // "=<process> <file> …"
    if (all[0].starts_with('='))
      all[0] = "=0 3" + all[0].substr(all[0].find(' ', all[0].find(' ') + 1));
    return all;
  }
};

TEST(SharedSegment, OfAnotherHostIsRefusedByAll) {
  testing_fakes::on_threads(2, [](Communicator& transport) {
    Elsewhere ranks(transport);
    auto made = shared_memory(ranks);
    const auto* refusal = std::get_if<Unsupported>(&made);
    ASSERT_NE(refusal, nullptr);
    EXPECT_NE(refusal->reason.find("rank 1: open /proc/0/fd/3"), std::string::npos)
        << refusal->reason;
  });
}

}  // namespace test_shared_memory
}  // namespace assay
