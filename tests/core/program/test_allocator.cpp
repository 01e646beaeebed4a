// The allocator of a case, and the one that a process has.
#include "core/program/allocator.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"

namespace assay {
namespace test_allocator {

const LoadedAllocator libc{"system", "libc.so.6"}, tcmalloc{"tcmalloc", "libtcmalloc.so.4.5.9"};

std::string failure(const std::string& asked, const LoadedAllocator& loaded,
                    const std::string& preload) {
  try {
    allocator_refusal({{"allocator", asked}}, loaded, preload);
  } catch (const CaseError& error) {
    return error.what();
  }
  return "none";
}

TEST(Allocator, IsTheOneThatWasAskedFor) {
  EXPECT_FALSE(allocator_refusal({{"allocator", "system"}}, libc, ""));
  EXPECT_FALSE(allocator_refusal({}, libc, ""));
  EXPECT_FALSE(allocator_refusal({{"allocator", "tcmalloc"}}, tcmalloc, "libtcmalloc.so.4"));
}

TEST(Allocator, IsUnsupportedWhereItIsNotLoaded) {
  const auto refusal = allocator_refusal({{"allocator", "jemalloc"}}, libc, "libother.so");
  ASSERT_TRUE(refusal);
  for (const char* word : {"jemalloc", "libc.so.6", "libjemalloc2", "LD_LIBRARY_PATH"})
    EXPECT_NE(refusal->reason.find(word), std::string::npos) << refusal->reason;
}

TEST(Allocator, FailsWhereAnotherOneIsThere) {
  EXPECT_NE(failure("system", tcmalloc, "libtcmalloc.so.4").find("--allocator tcmalloc"),
            std::string::npos);
  EXPECT_NE(failure("", tcmalloc, "").find("libtcmalloc.so.4.5.9"), std::string::npos);
  EXPECT_NE(failure("tcmalloc", libc, "/gone/libtcmalloc.so.4").find("on every node"),
            std::string::npos);
}

TEST(Allocator, OfThisProcessIsTheSystems) {
  EXPECT_EQ(find_loaded_allocator().name, system_allocator);
  EXPECT_NE(find_loaded_allocator().file, "unknown");
}

}  // namespace test_allocator
}  // namespace assay
