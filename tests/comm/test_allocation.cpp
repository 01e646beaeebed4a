// A timed run of a collective allocates nothing of its own: what the tests' transport allocates,
// which stands for a library, is not counted.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "comm/layers/fusion.hpp"
#include "comm/layers/wire.hpp"
#include "tests/comm/collective_bench.hpp"
#include "tests/comm/collective_check.hpp"

namespace {
// Each thread, which is a rank, has its own.
thread_local bool counting = false;
thread_local long allocations = 0;

void* counted_or_null(std::size_t bytes) noexcept {
  if (counting) ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* counted(std::size_t bytes) {
  if (void* place = counted_or_null(bytes)) return place;
  throw std::bad_alloc();
}
}  // namespace

// These operators serve the whole program: the core, a shared library, calls these, too. All of
// them, since a sanitizer has its own of those that are left, and minds a pair of two makers.
void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted_or_null(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted_or_null(bytes);
}
void operator delete(void* place) noexcept { std::free(place); }
void operator delete[](void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }
void operator delete[](void* place, std::size_t) noexcept { std::free(place); }

namespace assay {
namespace test_allocation {

using testing_fakes::on_threads;

/// A transport whose own allocations are not counted, nor those of its parts.
class Library final : public ForwardingCommunicator {
 public:
  explicit Library(Communicator& under) : ForwardingCommunicator(under) {}
  explicit Library(std::unique_ptr<Communicator> part)
      : ForwardingCommunicator(*part), part_(std::move(part)) {}
  std::unique_ptr<Communicator> split(int color, int key) override {
    return std::make_unique<Library>(under().split(color, key));
  }
  void run(const Call& call, Stream& stream) override {
    const Pause pause;
    under().run(call, stream);
  }
  Request start(const Call& call, Stream& stream) override {
    const Pause pause;
    return under().start(call, stream);
  }
  Request send(Buffer data, int to, int tag, Stream& stream) override {
    const Pause pause;
    return under().send(data, to, tag, stream);
  }
  Request receive(Buffer data, int from, int tag, Stream& stream) override {
    const Pause pause;
    return under().receive(data, from, tag, stream);
  }
  void wait(Request& request) override {
    const Pause pause;
    under().wait(request);
  }
  bool done(Request& request) override {
    const Pause pause;
    return under().done(request);
  }

 private:
  struct Pause {
    bool before = std::exchange(counting, false);
    ~Pause() { counting = before; }
  };
  std::unique_ptr<Communicator> part_;
};

using Layers = std::vector<std::unique_ptr<Communicator>>;
/// Lays further ones over the last of the layers.
using Cover = std::function<void(Layers&)>;

struct Allocated {
  std::string algorithm;
  CollectiveShape shape{};
  std::string inside = "same";
  int ranks_per_node = 0;
  bool nonblocking = false;
  Cover cover = [](Layers&) {};
  std::optional<ReplaySettings> replay{};
};

/// Makes the calls of 20 timed runs on each rank, and expects nothing to be allocated in them.
void expect_none(const Allocated& wanted) {
  on_threads(
      wanted.shape.ranks,
      [&](Communicator& threads) {
        Library library(threads);
        Options options;
        options.settings = {{"inside", wanted.inside}};
        std::string reason;
        Layers layers;
        layers.push_back(testing_comm::make(wanted.algorithm, library, options, &reason));
        ASSERT_NE(layers.front(), nullptr) << reason;
        wanted.cover(layers);
        const auto rank = testing_fakes::rank_case(
            wanted.shape, threads, std::make_unique<ForwardingCommunicator>(*layers.back()),
            wanted.nonblocking, wanted.replay);
        const Verification verified = rank->workload->verify_before();
        EXPECT_TRUE(verified.passed) << verified.reason;
        rank->workload->reset();
        allocations = 0;
        for (int i = 0; i < 20; ++i) {
          threads.barrier();
          counting = true;
          rank->workload->run(rank->workload->stream());
          counting = false;
        }
        EXPECT_EQ(allocations, 0) << wanted.algorithm << ", rank " << threads.rank();
        threads.barrier();  // nobody takes his part down while others use it
        while (layers.size() > 1) layers.pop_back();  // a layer goes before what it lies on
      },
      wanted.ranks_per_node);
}

CollectiveShape allreduce(std::int64_t bytes, int ranks) {
  CollectiveShape shape;
  shape.bytes = bytes;
  shape.ranks = ranks;
  return shape;
}

class AlgorithmAllocation : public testing::TestWithParam<std::string> {};

// Several segments, so that messages of one call are under way together.
TEST_P(AlgorithmAllocation, ATimedRunAllocatesNothing) {
  const std::string& name = GetParam();
  const int ranks = name == "exascale_hybrid" ? 8 : 4;
  Allocated wanted{name, allreduce(1200000, ranks)};
  wanted.ranks_per_node = name == "shared_memory" ? 0 : ranks / 2;
  expect_none(wanted);
  wanted.nonblocking = true;
  expect_none(wanted);
  wanted.inside = "shared_memory";
  if (name.ends_with("_hybrid")) expect_none(wanted);
}
INSTANTIATE_TEST_SUITE_P(Each, AlgorithmAllocation,
                         testing::Values("library", "ring", "halving_doubling", "tree", "torus2d",
                                         "hierarchical", "shared_memory", "horovod_hybrid",
                                         "exascale_hybrid"),
                         [](const auto& test) { return test.param; });

TEST(Allocation, ATimedRunOfAWireAllocatesNothing) {
  for (const char* algorithm : {"library", "shared_memory"}) {
    Allocated wanted{algorithm, allreduce(400000, 3)};
    wanted.cover = [](Layers& layers) {
      layers.push_back(wire_compressed(*layers.back(), DataType::fp16));
    };
    expect_none(wanted);
  }
}

/// Tensors of which many have one size, as in a network: their calls are under way together.
TEST(Allocation, ATimedRunOfAReplayAllocatesNothing) {
  ReplaySettings settings;
  std::int64_t elements = 0;
  for (int i = 0; i < 100; ++i) settings.counts.push_back(i % 10 == 0 ? 10000 : i % 2 + 63);
  for (const std::int64_t count : settings.counts) elements += count;
  for (const char* algorithm : {"library", "ring", "halving_doubling", "shared_memory"})
    for (const double compute : {0.0, 0.002})
      for (const std::size_t fusion : {0, 20000}) {
        settings.started = fusion > 0;
        settings.compute_seconds = compute;
        Allocated wanted{algorithm, allreduce(4 * elements, 2)};
        wanted.replay = settings;
        wanted.cover = [&](Layers& layers) {
          if (fusion > 0) layers.push_back(make_fusion(*layers.back(), fusion));
        };
        expect_none(wanted);
      }
}

TEST(Allocation, ATimedRunAllocatesNothing) {
  const auto alone = make_serial_communicator();
  for (const Pattern pattern : {Pattern::allreduce, Pattern::reduce_scatter, Pattern::allgather,
                                Pattern::broadcast, Pattern::alltoall, Pattern::barrier})
    for (const bool nonblocking : {false, true}) {
      CollectiveShape shape;
      shape.pattern = pattern;
      shape.bytes = pattern == Pattern::barrier ? 0 : 4096;
      const auto rank = testing_fakes::rank_case(
          shape, *alone, std::make_unique<ForwardingCommunicator>(*alone), nonblocking);
      ASSERT_TRUE(rank->workload->verify_before().passed);
      rank->workload->reset();
      allocations = 0;
      counting = true;
      for (int i = 0; i < 100; ++i) rank->workload->run(rank->workload->stream());
      counting = false;
      EXPECT_EQ(allocations, 0) << name(pattern);
    }
}

TEST(Allocation, TheCounterCounts) {
  allocations = 0;
  counting = true;
  const auto something = std::make_unique<double>(1);
  counting = false;
  EXPECT_GE(allocations + (*something > 2 ? 1 : 0), 1);
}

}  // namespace test_allocation
}  // namespace assay
