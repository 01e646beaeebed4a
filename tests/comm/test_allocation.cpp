// A timed run of a collective allocates nothing of its own: counted with a transport that does
// nothing, so that all that is counted is ours.

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "tests/comm/collective_bench.hpp"

namespace {
std::atomic<bool> counting = false;
std::atomic<long> allocations = 0;

void* counted_or_null(std::size_t bytes) noexcept {
  if (counting) ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* counted(std::size_t bytes) {
  if (void* place = counted_or_null(bytes)) return place;
  throw std::bad_alloc();
}
}  // namespace

// Of the whole program: the core, a shared library, calls these, too. All of them, since a
// sanitizer has its own of those that are left, and minds a pair of two makers.
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
namespace {

TEST(Allocation, ATimedRunAllocatesNothing) {
  const auto alone = serial_communicator();
  for (const Pattern pattern : {Pattern::allreduce, Pattern::reduce_scatter, Pattern::allgather,
                                Pattern::broadcast, Pattern::alltoall, Pattern::barrier})
    for (const bool nonblocking : {false, true}) {
      CollectiveShape shape;
      shape.pattern = pattern;
      shape.bytes = pattern == Pattern::barrier ? 0 : 4096;
      const auto one = testing_fakes::rank_case(
          shape, *alone, std::make_unique<ForwardingCommunicator>(*alone), nonblocking);
      ASSERT_TRUE(one->workload->verify_before().passed);
      one->workload->reset();
      allocations = 0;
      counting = true;
      for (int i = 0; i < 100; ++i) one->workload->run(one->workload->stream());
      counting = false;
      EXPECT_EQ(allocations, 0) << pattern_names()[static_cast<std::size_t>(pattern)];
    }
}

TEST(Allocation, TheCounterCounts) {
  allocations = 0;
  counting = true;
  const auto something = std::make_unique<double>(1);
  counting = false;
  EXPECT_GE(allocations + (*something > 2 ? 1 : 0), 1);
}

}  // namespace
}  // namespace assay
